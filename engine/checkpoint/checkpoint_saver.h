// Saves what training goes on from, after every so many steps. A step waits until the rank's values are in host
// memory; a thread writes them to files from there, and rank 0's makes the checkpoint whole once every rank has written
// its own (checkpoint_files.h).
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
  // Takes host memory for the values that this rank saves, in a dry walk too. All must outlive it; `fp8` is null in
  // another precision.
  CheckpointSaver(const Context& context, const spec::RunSpec& run, const ParameterStore& store, const Fp8Scales* fp8);
  // Ends what is being written, and leaves no checkpoint of it.
  ~CheckpointSaver();
  CheckpointSaver(const CheckpointSaver&) = delete;
  CheckpointSaver& operator=(const CheckpointSaver&) = delete;

  // Before the first step, by every rank. Throws as CheckpointFolder.
  void open(const std::filesystem::path& folder, std::int64_t first_step);
  // The state after `steps` steps, where they are of those that are saved. Waits for the save before, if that is still
  // being written, and with asynchronous: false for this one. Returns how long the caller waited. Throws what went
  // wrong with the save before.
  std::int64_t after_steps(std::int64_t steps);
  // Waits for what is being written. Throws what went wrong.
  void finish();

  // So far, on rank 0; nothing on others.
  const spec::CheckpointCosts& costs() const { return costs_; }

 private:
  // A copy of `source`, in host memory.
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
  std::vector<Fp8Scales::History> histories_;  // of the first rank of each layer
  std::vector<Snapshot> snapshots_;
  std::filesystem::path folder_;
  std::optional<CheckpointFolder> claim_;  // rank 0's
  spec::CheckpointCosts costs_;
  std::int64_t save_ns_ = 0;  // of all saves
  std::atomic<bool> stop_ = false;
  std::exception_ptr failure_;  // of the thread, read once it has ended
  std::thread writer_;
};

}  // namespace perfbench::engine
