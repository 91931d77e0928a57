#include "harness/cli/shell/completion.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "harness/cli/shell/command_tree.h"
#include "harness/cli/shell/completion_scripts.h"
#include "harness/cli/shell/listed_values.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {

CompletedWord completed_word(const CLI::Option& option) {
  const auto type = option.get_type_name();
  if (type == "FOLDER" || type.ends_with(" or FOLDER")) return {.kind = WordKind::folder};
  if (type == "METRIC") {
    CompletedWord out{.kind = WordKind::values};
    for (const auto& metric : spec::kMetricCatalog) out.values.emplace_back(metric.tag);
    return out;
  }
  // Also matches "FILE|published:SYSTEM/ID", of which the file can be completed.
  for (const auto* path : {"FILE", "DATABASE", "PATH"}) {
    if (type.starts_with(path)) return {.kind = WordKind::file};
  }
  auto values = values_of_type(type);
  if (values.empty()) return {};
  return {.kind = WordKind::values, .values = std::move(values)};
}

int words_taken(const CLI::Option& option) {
  return may_be_repeated(option) ? 1 : option.get_items_expected_max();
}

std::string completion_script(const CLI::App& root, Shell shell) {
  switch (shell) {
    case Shell::zsh:
      return zsh_completion(root);
    case Shell::fish:
      return fish_completion(root);
    case Shell::bash:
      break;
  }
  return bash_completion(root);
}

}  // namespace perfbench::harness
