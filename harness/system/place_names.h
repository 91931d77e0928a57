// The templates of a program that are filled in when it starts. They are not part of a run's identity.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "harness/system/text_template.h"
#include "workloads/spec/program_spec.h"

namespace perfbench::harness {

// coordinator: the address of the first node. cwd: the folder in which perfbench was started. node_rank: the number of
// the node, from 0. python: an interpreter. repo: the program's repository. run_dir: the attempt's folder.
inline constexpr std::string_view kCoordinator = "coordinator";
inline constexpr std::string_view kNodeRank = "node_rank";
inline constexpr std::array<std::string_view, 6> kPlaceNames{kCoordinator, "cwd",  kNodeRank,
                                                             "python",     "repo", "run_dir"};

// Stands for the number of the node in a command that srun starts on each node. `perfbench-adapter node` replaces it.
inline constexpr std::string_view kNodeRankTemplate = "{node_rank}";
inline std::string with_node_rank(std::string text, std::string_view rank) {
  for (std::size_t at = 0; (at = text.find(kNodeRankTemplate, at)) != std::string::npos; at += rank.size()) {
    text.replace(at, kNodeRankTemplate.size(), rank);
  }
  return text;
}

inline bool is_place_name(std::string_view name) {
  return std::find(kPlaceNames.begin(), kPlaceNames.end(), name) != kPlaceNames.end();
}

// Calls `f` with every text of a program that may hold templates.
template <class F>
void for_each_template(spec::ProgramSpec& program, F&& f) {
  for (auto& word : program.command) f(word);
  for (auto& [name, value] : program.env) f(value);
  for (auto& file : program.files) f(file.path);
  f(program.workdir);
  f(program.ranks.count);
  f(program.container.image);
  for (auto& option : program.container.options) f(option);
}

// Fills all names except those above with `value_of(name)`. Throws TemplateError.
template <class Value>
void fill_keys(spec::ProgramSpec& program, const Value& value_of) {
  for_each_template(program, [&](std::string& text) {
    text = fill_known(text, [&](const std::string& name) {
      return is_place_name(name) ? std::nullopt : std::optional<std::string>(value_of(name));
    });
  });
}

}  // namespace perfbench::harness
