// A run of a training program that is not perfbench-engine. Its run.json holds the program and the fields of RunSpec
// that its user declared. The other fields of its RunSpec are at their defaults and mean nothing.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "workloads/spec/program_spec.h"

namespace perfbench::spec {

struct RunSpec;

struct RunProgram {
  // Its texts may hold templates such as {run_dir}, which are filled in when the run starts.
  ProgramSpec spec;
  std::set<std::string> declared;  // dotted names: "seq_len", "model.layers"
};

// Whether a field, or any field inside a group such as "mesh", means something in this run. Every field does in a run
// of perfbench-engine.
bool says(const RunSpec& run, std::string_view field);

// Whether the tokens of a step are known: seq_len and global_batch.
bool says_tokens(const RunSpec& run);

}  // namespace perfbench::spec
