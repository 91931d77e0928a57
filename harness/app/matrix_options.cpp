#include "harness/app/matrix_options.h"

#include <fmt/format.h>

#include <cstdio>

#include "harness/matrix/yaml_document.h"
#include "reports/format/print.h"

namespace perfbench::harness {
namespace {

YamlDocument load_file(const MatrixOptions& options, const std::filesystem::path& data_dir) {
  auto file = options.file;
  if (!std::filesystem::exists(file) && std::filesystem::exists(data_dir / file)) file = data_dir / file;
  return YamlDocument::load(file, "matrix");
}

}  // namespace

std::string MatrixOptions::only_words() const {
  return fmt::format("{}", fmt::join(overrides.only, " "));
}

std::string matrix_name(const MatrixOptions& options, const std::filesystem::path& data_dir) {
  return name_of(load_file(options, data_dir));
}

Expansion expand_matrix(const MatrixOptions& options, const ModelCatalog& catalog,
                        const std::filesystem::path& data_dir) {
  return expand(load_file(options, data_dir), catalog, options.overrides);
}

Expansion load_matrix(const MatrixOptions& options, const ModelCatalog& catalog,
                      const std::filesystem::path& data_dir) {
  auto expansion = expand_matrix(options, catalog, data_dir);
  for (const auto& notice : expansion.notices) reports::print(stderr, "note: {}\n", notice);
  return expansion;
}

}  // namespace perfbench::harness
