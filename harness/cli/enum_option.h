// Options whose values are names: an enumeration's, or those of a list. Include in .cpp files of commands only.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "harness/cli/listed_values.h"
#include "workloads/spec/enum_names.h"

namespace perfbench::harness {

template <class E>
std::vector<std::string> names_of_enum() {
  std::vector<std::string> names;
  for (const auto& [value, name] : spec::EnumNames<E>::kNames) names.emplace_back(name);
  return names;
}

// What `take` gets is one of the names.
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
