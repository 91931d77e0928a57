// Makes a matrix of one cell from the words of `perfbench run`, so that a program without a matrix file is handled like
// any other.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "workloads/spec/program_spec.h"

namespace perfbench::harness {

struct ProgramWords {
  std::vector<std::string> command;
  std::string reader = {};
  std::map<std::string, spec::DeclaredMetric> metrics = {};
  std::vector<std::string> work = {};  // "seq_len=1024"
  std::int64_t steps = 0;              // 0: not declared
  std::int64_t drop = 0;
  std::int64_t repeats = 1;
  spec::ProgramContainer container = {};
  std::string name = {};  // name of the cell; empty: the program's
};

// The text of the matrix. Braces in the command and the container are literal, except in {run_dir}, {cwd} and {python}.
// Throws InputError for work that is not KEY=VALUE.
std::string program_matrix(const ProgramWords& words);

}  // namespace perfbench::harness
