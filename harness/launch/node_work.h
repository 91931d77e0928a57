// The work of a job outside of perfbench for one cell of a matrix: the input of the launch files (launch_file.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/matrix/matrix.h"

namespace perfbench::harness {

// Where the job starts the command.
enum class StartedOn {
  every_node,  // once on each
  first_node,  // once; it starts its ranks on all nodes itself, or there is one node
};

// Texts of `env`, `command` and `workdir` are templates with the names of harness/system/place_names.h.
struct NodeWork {
  std::string name;                  // a DNS label of at most 40 characters, as XPK requires, one for each run
  std::vector<std::string> remarks;  // for people: the cell, and how its results come home
  std::int64_t nodes = 1;
  std::int64_t devices_per_node = 1;
  bool on_gpus = false;
  StartedOn started_on = StartedOn::every_node;
  std::map<std::string, std::string> env;
  std::vector<std::string> needs;  // variables that must be set in the environment
  std::vector<std::string> command;
  std::string workdir;      // empty: that of the image
  std::string image;        // the program's own; empty: it has none
  std::string matrix_text;  // written to {run_dir}/matrix.yaml; empty: no file
  // The image is perfbench's own, whose user is not the one who starts it, and may not write to a folder of that one.
  bool in_own_image = false;
};

// How the job has a program.
struct ProgramInJob {
  std::string checkout;    // the folder for {repo} and {cwd}; empty: as they are here
  bool has_image = false;  // it is in an image, which has no folder of here
};

// The work of a cell with a program.
NodeWork work_of_program(const Cell& cell, const ProgramInJob& in_job);

// How the job of a cell of perfbench-engine knows the cell.
struct EngineCell {
  std::string perfbench;  // the executable where the job runs
  std::string matrix;     // an installed matrix by its name, or its file; empty: `text`
  std::string text;       // the matrix itself
  bool in_image = false;
  std::vector<std::string> words;  // --only and --set, which select the cell
};

// The work of a cell of perfbench-engine: `perfbench sweep` inside the job.
NodeWork work_of_engine(const Cell& cell, const EngineCell& known_as);

}  // namespace perfbench::harness
