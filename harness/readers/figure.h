// What a number in a log is: its metric in perfbench's unit, or the part that it has in making one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace perfbench::readers {

struct Number {
  double value = 0;
  double resolution = 0;  // between two values that this form of the number can show
};

// "1,234", "+nan", "8.6E-06", "45.1%". Nothing for what is no number: "N/A", "null".
std::optional<Number> parse_number(std::string_view text);

enum class Role {
  metric,        // a sample by itself
  step,          // the number of the step
  rank,          // the rank that printed it
  part,          // one part of a step time, which is the sum of the parts
  elapsed,       // time since the start: two records differ by the time of the steps between them
  micro,         // time of one micro-batch: the step time is the sum of those of a step
  micro_last,    // text that marks the last micro-batch of a step
  window_time,   // time of a window of steps ...
  window_steps,  // ... and how many they are
  steps_rate,    // steps/s since the start
  nan_count,     // steps of the window whose loss was no number
  position,      // how far a progress bar is: the step of records that say none
  position_end,  // the steps of the whole bar
};

// How records name a figure (a named group of a pattern, or by a table of keys) and what becomes of it.
struct Figure {
  std::string_view name;
  std::string_view metric;  // of Role::metric
  double factor = 1;        // from the printed unit to that of the metric
  Role role = Role::metric;
};

// A figure by its name in the tables of the readers. Throws std::logic_error: the tables are part of the program.
const Figure& figure(std::string_view name);

// From a printed unit to the one that the name of a metric ends in: "ms" and "step_time_s" give 0.001. Nothing if the
// name does not fit the unit: a metric with unit "ms" has a name that ends in _s.
std::optional<double> unit_factor(std::string_view unit, std::string_view metric);
std::vector<std::string> known_units();

}  // namespace perfbench::readers
