// One record of a program as named figures, and the search for figures in pairs of key and value.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/readers/figure.h"
#include "harness/readers/reader.h"

namespace perfbench::readers {

// How to read the rest of a line after the match. Named groups are always figures.
struct Pairs {
  char between = 0;  // '|' and ':' for "a: 1 | b: 2"; 0: there are no pairs
  char equals = 0;
};

struct Key {
  std::string_view key;
  std::string_view figure;  // figure.h
};

// The same with the figure itself, which comes from a table or from declared metrics.
struct KeyedFigure {
  std::string_view key;
  Figure figure;
};
std::vector<KeyedFigure> keyed_figures(std::span<const Key> keys);

// The declared metrics that have a key; `step` is the key of the step. The result holds views into the settings. Throws
// ReaderError.
std::vector<KeyedFigure> keyed_figures(const Settings& settings, std::string_view step);

// The factor of a declared metric's unit. Throws ReaderError, with a list of the valid units.
double declared_factor(const std::string& name, const spec::DeclaredMetric& metric);

// The number as a count of steps; nullopt if it cannot be one.
std::optional<std::int64_t> as_count(const Number& number);

// One record, before it becomes a sample.
struct Row {
  struct Entry {
    Figure figure;
    Number number;
  };
  std::optional<std::int64_t> step;
  std::int64_t rank = 0;
  ArrivalTime at_ns;
  std::vector<Entry> entries;
  bool is_last_micro = false;
  spec::SampleKind time_kind = spec::SampleKind::per_step;
  spec::SampleKind claim_kind = spec::SampleKind::per_step;

  // Ignores a figure whose text is not a number.
  void add(const Figure& figure, std::string_view text);
  void add_value(const Figure& figure, const Number& number);
  const Entry* find(Role role) const;
};

// Adds the pairs of the text whose key is in the table.
void add_pairs(std::string_view text, Pairs pairs, std::span<const KeyedFigure> keys, Row& row);

}  // namespace perfbench::readers
