#include "harness/cli/matrix_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "harness/cli/checked_option.h"
#include "harness/matrix/yaml_document.h"
#include "reports/format/print.h"

namespace perfbench::harness {

void add_matrix_options(CLI::App& command, MatrixOptions& options, MatrixFile file) {
  add_path(command, "file", options.file, PathIs::file, "matrix file (matrices/README.md)")
      ->required(file == MatrixFile::required);
  // One value an option: what follows it may be the file.
  command
      .add_option("--only", options.overrides.only, "keep the cells with key=value[,value], * globs; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--set", options.overrides.set, "set a field of every cell, key=value; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::string MatrixOptions::selection() const {
  return fmt::format("{}", fmt::join(overrides.only, " "));
}

Expansion expand_matrix(const MatrixOptions& options, const ModelCatalog& catalog,
                        const std::filesystem::path& data_dir) {
  auto file = options.file;
  if (!std::filesystem::exists(file) && std::filesystem::exists(data_dir / file)) file = data_dir / file;
  return expand(YamlDocument::load(file, "matrix"), catalog, options.overrides);
}

Expansion load_matrix(const MatrixOptions& options, const ModelCatalog& catalog,
                      const std::filesystem::path& data_dir) {
  auto expansion = expand_matrix(options, catalog, data_dir);
  for (const auto& notice : expansion.notices) reports::print(stderr, "note: {}\n", notice);
  return expansion;
}

}  // namespace perfbench::harness
