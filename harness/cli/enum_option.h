// An option whose values are an enumeration's names. Include in .cpp files of commands only.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>

#include "workloads/spec/fields.h"

namespace perfbench::harness {

template <class E>
CLI::Option* add_enum_option(CLI::App& command, const std::string& name, E& value, const std::string& help) {
  std::map<std::string, E> names;
  for (const auto& [entry, text] : spec::EnumNames<E>::kNames) names[text] = entry;
  return command.add_option(name, value, help)
      ->transform(CLI::CheckedTransformer(names))
      ->default_str(std::string(spec::enum_name(value)));
}

}  // namespace perfbench::harness
