// Writes run directories as the engine and the harness do, for tests of their readers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/evidence/attempt.h"
#include "workloads/spec/environment.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/run_summary.h"
#include "workloads/spec/step_record.h"
#include "workloads/spec/work_record.h"

namespace perfbench::harness {

spec::RunSpec example_spec();  // a tiny llama of one rank
spec::EnvironmentRecord example_environment();

struct ExampleRun {
  spec::RunSpec run = example_spec();
  spec::EnvironmentRecord environment = example_environment();
  AttemptRecord attempt;                                        // run_id is filled in by the writer
  std::vector<double> step_s = {0.9, 0.5, 0.5, 0.5, 0.5, 0.5};  // for every rank
  std::vector<double> probe_s = {0.001};                        // for the steps; the last one is repeated
  std::int64_t peak_bytes = 64 << 20;
  std::vector<spec::AttentionKernel> attention_kernels = {};  // for a run on a GPU
  spec::StepRecord step = {};                                 // values of a step that are not derived from the above
  spec::EvaluationResult evaluation = {};
};

AttemptRecord example_attempt(const std::string& cell, std::int64_t number);

// Writes all files of a finished attempt; for a state other than ok, leaves out env.json, result.json and steps.
void write_run_directory(const std::filesystem::path& directory, const ExampleRun& example);

// The damage to a file by a crash, a full disk or a hostile engine.
enum class Damage { cut_off, empty, pipe, folder, endless, huge };
inline constexpr Damage kEveryDamage[] = {Damage::cut_off, Damage::empty,   Damage::pipe,
                                          Damage::folder,  Damage::endless, Damage::huge};
const char* damage_name(Damage damage);
void damage_file(const std::filesystem::path& file, Damage damage);

// A folder that is removed with the object.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string read_text(const std::filesystem::path& file);
void write_text(const std::filesystem::path& file, const std::string& text);

}  // namespace perfbench::harness
