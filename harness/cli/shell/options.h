// Options that take a number, a duration, a size or a path. Their values are checked while the command line is parsed,
// before anything runs. All such options of all commands are made here. Include this in .cpp files of commands only.
#pragma once

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <concepts>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "harness/cli/shell/listed_values.h"
#include "harness/system/input_error.h"
#include "workloads/spec/amount_text.h"
#include "workloads/spec/enum_names.h"

namespace perfbench::harness {

// Both ends are allowed values; they are finite.
template <class T>
struct Bounds {
  T lowest{};
  T highest{};

  // NaN and infinities are never in bounds.
  bool hold(T value) const { return value >= lowest && value <= highest; }
};

// The number that the whole `text` represents; nullopt if it is not a number, or too large for a T.
template <class T>
std::optional<T> whole_number_text(const std::string& text) {
  T value{};
  const auto* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return value;
}

// `value` is a T or an optional T.
template <class T, class Value>
CLI::Option* add_number(CLI::App& command, const std::string& name, Value& value, Bounds<T> bounds,
                        const std::string& help) {
  const auto kind = std::integral<T> ? "a whole number" : "a number";
  const auto check = [=](const std::string& text) -> std::string {
    const auto number = whole_number_text<T>(text);
    if (number && bounds.hold(*number)) return "";
    return fmt::format("'{}': {} from {} to {} is needed", text, kind, bounds.lowest, bounds.highest);
  };
  return command.add_option(name, value, help)
      ->type_name(fmt::format("NUMBER from {} to {}", bounds.lowest, bounds.highest))
      ->check(CLI::Validator(check, ""));
}

// The format of a duration, a size or a fraction. An option may have examples of its own.
struct Amount {
  std::optional<double> (*parse)(std::string_view text, std::optional<double> bare_unit);
  const char* type_name;
  const char* what;  // "a duration"
  std::string_view examples;
};
constexpr Amount duration_such_as(std::string_view examples) {
  return {&spec::parse_duration_s, "DURATION", "a duration", examples};
}
inline constexpr Amount kDuration = duration_such_as(spec::kDurationExamples);
inline constexpr Amount kSize{&spec::parse_size_bytes, "SIZE", "a size", spec::kSizeExamples};

// A number, or one followed by a percent sign.
inline std::optional<double> parse_fraction(std::string_view text, std::optional<double> bare_unit) {
  const bool is_percent = text.ends_with('%');
  if (is_percent) text.remove_suffix(1);
  const auto number = whole_number_text<double>(std::string(text));
  if (!number || (!is_percent && !bare_unit)) return std::nullopt;
  return *number * (is_percent ? 0.01 : *bare_unit);
}
inline constexpr Amount kFraction{&parse_fraction, "FRACTION", "a fraction", "2%, 0.02"};

// The meaning of a number without a unit. `name` is for the help: "seconds".
struct BareUnit {
  double factor = 1;  // in seconds, in bytes, or as a fraction
  const char* name;
};

struct AmountLimits {
  Bounds<double> bounds;     // in seconds, or in bytes
  const char* shown_bounds;  // for the help: "from 1ms to 3 years"
};

// `take` receives seconds or bytes, the latter as an integer.
inline CLI::Option* add_amount(CLI::App& command, const std::string& name, const Amount& amount, BareUnit bare,
                               AmountLimits limits, const std::function<void(double)>& take, const std::string& help) {
  const auto check = [=](const std::string& text) -> std::string {
    const auto value = amount.parse(text, bare.factor);
    if (value && limits.bounds.hold(*value)) return "";
    return fmt::format("'{}': {} {} is needed, such as {}; a number alone is {}", text, amount.what,
                       limits.shown_bounds, amount.examples, bare.name);
  };
  const auto parse_and_take = [=](const std::string& text) { take(amount.parse(text, bare.factor).value()); };
  return command
      .add_option_function<std::string>(name, parse_and_take,
                                        fmt::format("{}: {}; a number alone is {}", help, amount.examples, bare.name))
      ->type_name(amount.type_name)
      ->check(CLI::Validator(check, ""));
}

inline const char* path_type_name(PathIs wanted) {
  switch (wanted) {
    case PathIs::file:
      return "FILE";
    case PathIs::folder:
      return "FOLDER";
    case PathIs::database:
      return "DATABASE";
    case PathIs::either:
      break;
  }
  return "PATH";
}

inline std::string path_complaint(const std::string& text, PathIs wanted) {
  const auto problem = path_problem(text, wanted);
  return problem ? fmt::format("'{}': {}; name another", text, *problem) : "";
}

// `value` is a path or a vector of paths. A variable of the environment that replaces an option is read for every
// command, but an invalid one matters only for the command that runs.
template <class Value>
CLI::Option* add_path(CLI::App& command, const std::string& name, Value& value, PathIs wanted,
                      const std::string& help) {
  const auto check = [wanted, &command](const std::string& text) {
    return command.parsed() ? path_complaint(text, wanted) : std::string();
  };
  return command.add_option(name, value, help)->type_name(path_type_name(wanted))->check(CLI::Validator(check, ""));
}

// Options whose values are names: of an enumeration, or of a list. Include this in .cpp files of commands only.
template <class E>
std::vector<std::string> names_of_enum() {
  std::vector<std::string> names;
  for (const auto& [value, name] : spec::EnumNames<E>::kNames) names.emplace_back(name);
  return names;
}

// `take` receives one of the names.
inline CLI::Option* add_name_option(CLI::App& command, const std::string& option, const std::vector<std::string>& names,
                                    const std::function<void(const std::string&)>& take, const std::string& help) {
  const auto check = [names](const std::string& text) { return value_complaint(text, names); };
  return command.add_option_function<std::string>(option, take, help)
      ->type_name(type_of_values(names))
      ->check(CLI::Validator(check, ""));
}

template <class E>
CLI::Option* add_enum_option(CLI::App& command, const std::string& name, E& value, const std::string& help) {
  const auto take = [&value](const std::string& text) { value = spec::enum_value<E>(text).value(); };
  return add_name_option(command, name, names_of_enum<E>(), take, help)
      ->default_str(std::string(spec::enum_name(value)));
}

}  // namespace perfbench::harness
