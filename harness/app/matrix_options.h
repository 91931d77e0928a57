// A matrix as a person asks for it: what the use cases that read one share.
#pragma once

#include <filesystem>
#include <string>

#include "harness/evidence/attempt.h"
#include "harness/matrix/matrix.h"

namespace perfbench::harness {

struct MatrixOptions {
  std::filesystem::path file;
  Overrides overrides;

  std::string only_words() const;  // AttemptRecord::only
  SweepWords words() const { return {.only = overrides.only, .set = overrides.set}; }
};

// The name that the file gives its matrix. Throws InputError, as the next ones.
std::string matrix_name(const MatrixOptions& options, const std::filesystem::path& data_dir);

// Expands the file. A relative path that does not exist here may name a matrix of `data_dir`: an installed perfbench
// knows matrices/quickstart.yaml from anywhere.
Expansion expand_matrix(const MatrixOptions& options, const ModelCatalog& catalog,
                        const std::filesystem::path& data_dir);

// The same, and prints the notices to standard error.
Expansion load_matrix(const MatrixOptions& options, const ModelCatalog& catalog, const std::filesystem::path& data_dir);

}  // namespace perfbench::harness
