// A matrix as a person asks for it: what the use cases that read one share.
#pragma once

#include <filesystem>
#include <string>

#include "harness/matrix/matrix.h"

namespace perfbench::harness {

struct MatrixOptions {
  std::filesystem::path file;
  Overrides overrides;

  std::string only_words() const;  // AttemptRecord::only
};

// Expands the file. A relative path that does not exist here may name a matrix of `data_dir`: an installed perfbench
// knows matrices/quickstart.yaml from anywhere. Throws InputError.
Expansion expand_matrix(const MatrixOptions& options, const ModelCatalog& catalog,
                        const std::filesystem::path& data_dir);

// The same, and prints the notices to standard error.
Expansion load_matrix(const MatrixOptions& options, const ModelCatalog& catalog, const std::filesystem::path& data_dir);

}  // namespace perfbench::harness
