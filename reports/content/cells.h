// Cells and values that several documents use.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/stats/verdict.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

Tone tone_of(harness::Verdict verdict);
Colour colour_of(Tone tone);  // of a chart's series

// The first digits of an id, a commit or a digest.
std::string first_digits(const std::string& id);
// The same as a cell, with all of it for programs. Empty: unknown.
Cell id_cell(const std::string& id);

// An optional number as JSON. Infinity becomes null too, because JSON does not have it.
inline nlohmann::ordered_json or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

// Numbers as cells.
Cell count_cell(std::int64_t value);
Cell number_cell(const std::optional<double>& value);  // four digits; empty without a value
Cell bytes_cell(std::int64_t bytes);                   // empty for 0

// In the unit that suits the value of a metric; "-" without a value.
Cell amount_cell(const std::optional<double>& value, const std::string& metric);

// The axes of a cell with their values, in the order of its label "model=llama remat=full". Empty for a label that is
// not a list of axes.
std::vector<std::pair<std::string, std::string>> label_axes(const std::string& label);

// A label without the names of axes: "llama full fsdp=2". A name stays where the value alone says too little: before a
// number, true or false, an empty value, and a value that another axis has too. `left_out` is an axis that the text
// does not mention.
std::string short_label(const std::string& label, std::string_view left_out = {});

// The short labels of the cells of a table, by their labels. Cells whose short labels are equal keep the whole ones.
std::map<std::string, std::string> short_labels(const std::vector<std::string>& labels);

// The number that the whole text is; nullopt for another text.
std::optional<double> number_in(std::string_view text);

// Shows each column of seconds, whose title ends in "(s)", in the unit in which the smallest of them is read best.
// Programs get seconds all the same.
void show_seconds_in_units(Table& table);

}  // namespace perfbench::reports
