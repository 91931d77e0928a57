// Options that several commands share, each declared once.
#pragma once

#include <filesystem>
#include <string>

#include "harness/app/ab_options.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace perfbench::harness {

// FILE, --only and --set.
enum class MatrixFile { required, optional };
void add_matrix_options(CLI::App& command, MatrixOptions& options, MatrixFile file = MatrixFile::required);

// --db, with the path that it holds as its default. PERFBENCH_DB of the environment stands in for an option that is not
// given; where there is no default either, nothing does.
CLI::Option* add_db_option(CLI::App& command, std::filesystem::path& db, const std::string& help);

// --timeout and --memory-limit.
void add_execution_options(CLI::App& command, ExecutionOptions& options);

// --pairing
CLI::Option* add_pairing_option(CLI::App& command, AbOptions& options);

// How two sides are compared in pairs: all but the matrix, the execution and --db. `group` is their heading in the
// help.
void add_ab_options(CLI::App& command, AbOptions& options, const std::string& group);

}  // namespace perfbench::harness
