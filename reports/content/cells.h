// Cells and values that several documents have.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness/stats/verdict.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

Tone tone_of(harness::Verdict verdict);

// The first digits of an id or a digest; all of it for programs. Empty: not known.
Cell id_cell(const std::string& id);

// A number that may be missing, as JSON, which has no infinity either.
inline nlohmann::ordered_json or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

// Numbers as cells.
Cell count_cell(std::int64_t value);
Cell number_cell(const std::optional<double>& value);  // four digits; empty without one
Cell bytes_cell(std::int64_t bytes);                   // empty for 0

}  // namespace perfbench::reports
