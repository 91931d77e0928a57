// Runs perfbench-engine as a program, each run in its own folder, and reads the results.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/engine_program.h"
#include "tests/engine/scratch_folder.h"
#include "tests/spec/step_record.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::engine {

// The records of rank 0, without a line that is cut off.
inline std::vector<spec::StepRecord> records_of(const std::filesystem::path& folder) {
  std::ifstream in(folder / "steps.rank0.jsonl");
  std::vector<spec::StepRecord> all;
  for (std::string line; std::getline(in, line) && !in.eof();) all.push_back(spec::parse_step_record(line));
  return all;
}

inline spec::RunSummary summary_of(const std::filesystem::path& folder) {
  std::ifstream in(folder / "result.json");
  return spec::parse_run_summary(std::string(std::istreambuf_iterator<char>(in), {}));
}

class EngineRuns {
 public:
  explicit EngineRuns(std::string engine) : engine_(std::move(engine)) {}
  // Replaces an earlier run of that name. `command`: what starts it, such as strace.
  std::filesystem::path run(const std::string& name, const spec::RunSpec& run, std::vector<std::string> command = {}) {
    const auto folder = scratch_ / name;
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "run.json") << spec::canonical_json(run);
    for (const auto& word : {engine_, std::string("run"), std::string("--dir"), folder.string()}) {
      command.push_back(word);
    }
    said_ = lines_of_program(std::move(command));
    return folder;
  }
  // The output of the last run on both its streams.
  std::string said() const { return testing::PrintToString(said_); }
  std::filesystem::path operator/(const std::string& name) const { return scratch_ / name; }

 private:
  std::string engine_;
  ScratchFolder scratch_;
  std::vector<std::string> said_;
};

}  // namespace perfbench::engine
