// Cells of a matrix as runs of a training program, by a program file (workloads/programs, docs/matrix.md).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace perfbench::harness {

struct Expansion;

// The program files of `data_dir`, by name, sorted.
std::vector<std::string> program_names(const std::filesystem::path& data_dir);

// Which program runs a matrix's cells.
struct ProgramChoice {
  std::string program;         // a name of program_names(), or the path of a file: it has a '/' or ends in ".yaml"
  std::filesystem::path repo;  // for {repo}; empty: that of the file, or else the current folder
};

// Replaces perfbench-engine by the program in every cell, and names its repository. A cell becomes infeasible, with the
// reason, if the program cannot be told one of its values. Throws InputError for an unknown name, a broken file, or
// cells that have a program of their own.
void run_with_program(Expansion& matrix, const ProgramChoice& choice, const std::filesystem::path& data_dir);

}  // namespace perfbench::harness
