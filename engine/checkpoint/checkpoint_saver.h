// Saves the training state every N steps. A step waits until the rank's values are in host memory; from there a thread
// writes them to files. Rank 0's thread makes the checkpoint whole once every rank has written its shard
// (checkpoint_files.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/checkpoint/checkpoint_files.h"
#include "engine/checkpoint/state_parts.h"
#include "engine/layers/fp8_scales.h"
#include "workloads/spec/checkpoint_record.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::engine {

class CheckpointSaver {
 public:
  // Allocates host memory for the values that this rank saves, in a dry walk too. All arguments must outlive the saver;
  // `fp8` is null in other precisions.
  CheckpointSaver(const Context& context, const spec::RunSpec& run, const ParameterStore& store, const Fp8Scales* fp8);
  // Stops a save in progress, and leaves no checkpoint of it.
  ~CheckpointSaver();
  CheckpointSaver(const CheckpointSaver&) = delete;
  CheckpointSaver& operator=(const CheckpointSaver&) = delete;

  // Every rank calls it before the first step. Throws as CheckpointFolder does.
  void open(const std::filesystem::path& folder, std::int64_t first_step);
  // Saves the state after `steps` steps if this is one of the steps to be saved. Waits for the previous save if that is
  // still being written, and with asynchronous: false for this one too. Returns how long the caller waited. Throws the
  // error of the previous save.
  std::int64_t after_steps(std::int64_t steps);
  // Waits for the save in progress. Throws its error.
  void finish();

  // The costs so far on rank 0; empty on other ranks.
  const spec::CheckpointCosts& costs() const { return costs_; }

 private:
  // A copy of `source` in host memory.
  struct Snapshot {
    std::string name;
    TensorView source;
    Tensor values;
  };
  void make_snapshot(const std::string& name, const TensorView& source);
  const TensorView& snapshot_of(const TensorView& source) const;
  PartToWrite part_to_write(const StatePart& part) const;
  PartToWrite part_to_write(const Fp8Scales::History& history) const;
  void take_snapshot();
  void write(std::int64_t step, std::int64_t begun_ns);

  const Context& context_;
  const spec::RunSpec& run_;
  const ParameterStore& store_;
  std::vector<StatePart> parts_;
  std::vector<Fp8Scales::History> histories_;  // those of each layer's first rank
  std::vector<Snapshot> snapshots_;
  std::filesystem::path folder_;
  std::optional<CheckpointFolder> claim_;  // on rank 0 alone
  spec::CheckpointCosts costs_;
  std::int64_t save_ns_ = 0;  // sum over all saves
  std::atomic<bool> stop_ = false;
  std::exception_ptr failure_;  // the thread's error, read once it has ended
  std::thread writer_;
};

}  // namespace perfbench::engine
