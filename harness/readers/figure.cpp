#include "harness/readers/figure.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

namespace perfbench::readers {
namespace {

constexpr double kKi = 1024.0;

constexpr std::array kFigures{
    Figure{"step", "", 1, Role::step},
    Figure{"rank", "", 1, Role::rank},
    Figure{"step_time_s", "step_time_s"},
    Figure{"step_time_ms", "step_time_s", 1e-3},
    Figure{"elapsed_s", "", 1, Role::elapsed},
    Figure{"part_s", "", 1, Role::part},
    Figure{"micro_ms", "", 1e-3, Role::micro},
    Figure{"micro_last", "", 1, Role::micro_last},
    Figure{"window_s", "", 1, Role::window_time},
    Figure{"window_steps", "", 1, Role::window_steps},
    Figure{"steps_per_s", "", 1, Role::steps_rate},
    Figure{"nan_count", "", 1, Role::nan_count},
    Figure{"position", "", 1, Role::position},
    Figure{"position_end", "", 1, Role::position_end},
    Figure{"loss", "loss"},
    Figure{"grad_norm", "grad_norm"},
    Figure{"learning_rate", "learning_rate"},
    Figure{"real_tokens", "real_tokens"},
    Figure{"loading_s", "loading_time_s"},
    Figure{"hook_s", "hook_time_s"},
    Figure{"trace_ms", "trace_time_s", 1e-3},
    Figure{"memory_gib", "device_memory_bytes", kKi* kKi* kKi},
    Figure{"tok_s", "stated.tokens_per_s"},
    Figure{"tok_s_dev", "stated.tokens_per_s_per_device"},
    Figure{"samples_s", "stated.samples_per_s"},
    Figure{"stated_step_time_s", "stated.step_time_s"},
    Figure{"tflops_dev", "stated.flops_per_s_per_device", 1e12},
    Figure{"mfu_percent", "stated.mfu_fraction", 1e-2},
    Figure{"mfu_fraction", "stated.mfu_fraction"},
    Figure{"power_w", "stated.power_w"},
    Figure{"energy_j", "stated.energy_j"},
};

struct Unit {
  std::string_view name;
  std::string_view suffix;  // for metrics whose names end so
  double factor = 1;
};
constexpr std::array kUnits{
    Unit{"s", "_s"},
    Unit{"ms", "_s", 1e-3},
    Unit{"us", "_s", 1e-6},
    Unit{"ns", "_s", 1e-9},
    Unit{"min", "_s", 60},
    Unit{"h", "_s", 3600},
    Unit{"bytes", "_bytes"},
    Unit{"B", "_bytes"},
    Unit{"kB", "_bytes", 1e3},
    Unit{"MB", "_bytes", 1e6},
    Unit{"GB", "_bytes", 1e9},
    Unit{"KiB", "_bytes", kKi},
    Unit{"MiB", "_bytes", kKi* kKi},
    Unit{"GiB", "_bytes", kKi* kKi* kKi},
    Unit{"%", "_fraction", 1e-2},
    Unit{"fraction", "_fraction"},
    Unit{"1/s", "_per_s"},
    Unit{"1", ""},
};

// 10 to the power of the negative number of decimals, times the exponent: 1e-8 for "8.60E-06".
double resolution_of(std::string_view text) {
  const auto exponent_at = text.find_first_of("eE");
  int exponent = 0;
  if (exponent_at != std::string_view::npos) {
    auto digits = text.substr(exponent_at + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    text = text.substr(0, exponent_at);
  }
  const auto point = text.find('.');
  const auto decimals = point == std::string_view::npos ? 0 : static_cast<int>(text.size() - point - 1);
  return std::pow(10.0, exponent - decimals);
}

}  // namespace

std::optional<Number> parse_number(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  text = text.substr(std::min(text.size(), text.find_first_not_of(kBlank)));
  text = text.substr(0, text.find_last_not_of(" \t%") + 1);
  if (text.starts_with('+')) text.remove_prefix(1);
  std::string without_commas;
  if (text.find(',') != std::string_view::npos) {
    std::ranges::copy_if(text, std::back_inserter(without_commas), [](char c) { return c != ','; });
    text = without_commas;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return Number{value, std::isfinite(value) ? resolution_of(text) : 0};
}

const Figure& figure(std::string_view name) {
  const auto* const found = std::ranges::find(kFigures, name, &Figure::name);
  if (found == kFigures.end()) throw std::logic_error("there is no figure named " + std::string(name));
  return *found;
}

std::optional<double> unit_factor(std::string_view unit, std::string_view metric) {
  const auto* const found = std::ranges::find(kUnits, unit, &Unit::name);
  if (found == kUnits.end() || !metric.ends_with(found->suffix)) return std::nullopt;
  const bool is_rate = metric.ends_with("_per_s") && found->suffix == "_s";
  if (is_rate) return std::nullopt;
  return found->factor;
}

std::vector<std::string> known_units() {
  std::vector<std::string> out;
  for (const auto& unit : kUnits) out.emplace_back(unit.name);
  return out;
}

}  // namespace perfbench::readers
