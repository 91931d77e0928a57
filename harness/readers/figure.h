// The meaning of a number in a log: a metric in perfbench's unit, or one of several numbers from which a metric is
// computed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace perfbench::readers {

struct Number {
  double value = 0;
  double resolution = 0;  // the smallest difference that this form of the number can show
};

// Accepts "1,234", "+nan", "8.6E-06", "45.1%". nullopt for text that is not a number: "N/A", "null".
std::optional<Number> parse_number(std::string_view text);

enum class Role {
  metric,        // a sample on its own
  step,          // the number of the step
  rank,          // the rank that printed it
  part,          // one part of a step time, which is the sum of its parts
  elapsed,       // time since the start; the difference of two records is the time of the steps between them
  micro,         // time of one micro-batch; the step time is the sum over the micro-batches of a step
  micro_last,    // text that marks the last micro-batch of a step
  window_time,   // duration of a window of steps
  window_steps,  // number of steps in the window
  steps_rate,    // steps/s since the start
  nan_count,     // number of steps in the window whose loss was NaN
  position,      // position of a progress bar: the step of records that do not have their own
  position_end,  // number of steps of the whole bar
};

// The name of a figure in records (a named group of a pattern, or an entry in a table of keys) and its use.
struct Figure {
  std::string_view name;
  std::string_view metric;  // for Role::metric
  double factor = 1;        // from the printed unit to the metric's unit
  Role role = Role::metric;
};

// Finds a figure by its name in the tables of the readers. Throws std::logic_error, because the tables are part of the
// program.
const Figure& figure(std::string_view name);

// The factor from a printed unit to the unit in which the name of a metric ends: "ms" and "step_time_s" give 0.001.
// nullopt if the name does not match the unit: a metric with unit "ms" needs a name that ends in _s.
std::optional<double> unit_factor(std::string_view unit, std::string_view metric);
std::vector<std::string> known_units();

}  // namespace perfbench::readers
