// The files of checkpoints (workloads/spec/checkpoint_record.h) in the folder that holds them: how a checkpoint becomes
// whole, which ones exist, and how an older one is removed. Knows models and meshes only through its arguments.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "workloads/spec/checkpoint_record.h"

namespace perfbench::engine {

struct SavedCheckpoint {
  std::int64_t step = 0;
  std::filesystem::path folder;
};
// The whole checkpoints of a folder, by step; empty if the folder does not exist. Throws BadInput if it cannot be read.
std::vector<SavedCheckpoint> whole_checkpoints(const std::filesystem::path& folder);
// The checkpoint at `path`, or the newest one in that folder. Throws BadInput, naming what was looked for, if there is
// none.
SavedCheckpoint find_checkpoint(const std::filesystem::path& path);

// Whether `name`, in such a folder, belongs to a checkpoint whose process ended while it was saving.
bool is_unfinished_checkpoint(const std::string& name);

// A folder that one run saves into. The claim lasts until this object is destroyed or its process ends.
class CheckpointFolder {
 public:
  // Rank 0 constructs it before the first save of a run whose first step is `first_step`: creates the folder and
  // removes what an earlier process left unfinished. Throws BadInput if another run saves into the folder, or if it
  // holds a checkpoint of a later step: the run's own would then never be the newest.
  CheckpointFolder(const std::filesystem::path& folder, std::int64_t first_step);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

 private:
  int lock_;  // file descriptor of the folder itself
};

struct PartToWrite {
  spec::CheckpointPart part;  // offset and checksum are filled in during the write
  // Called once, when the part is written. The bytes must stay valid until the next part is asked for its own.
  std::function<std::span<const std::byte>()> bytes;
};
// Writes this rank's shard. Every rank calls it, in any order; the shard is on the disk when it returns. Throws
// EngineError, such as for a full disk, and leaves nothing that could be taken for a part of a checkpoint.
void write_shard(const std::filesystem::path& folder, std::int64_t step, std::int64_t rank,
                 std::vector<PartToWrite> parts);

// Rank 0 calls it, with manifest.step, ranks, model and lora set: waits until each rank has written its shard, makes
// the checkpoint whole, and removes all but the newest `keep`. Returns early, without a checkpoint, once `stop` is set.
// Throws EngineError if the shard of a rank does not arrive. Returns the bytes of all values.
std::int64_t complete_checkpoint(const std::filesystem::path& folder, spec::CheckpointManifest manifest,
                                 std::int64_t keep, const std::atomic<bool>& stop);

// A checkpoint opened for reading: the lists in which each rank says what it wrote.
struct CheckpointContents {
  std::filesystem::path folder;
  spec::CheckpointManifest manifest;
  std::vector<spec::CheckpointShard> shards;  // by rank
};
// Throws BadInput naming the file that is missing, damaged or of another version.
CheckpointContents read_contents(const SavedCheckpoint& checkpoint);
// Reads the bytes of a part that `rank` wrote. Throws BadInput if their checksum differs from the recorded one.
std::vector<std::byte> read_part(const CheckpointContents& contents, std::int64_t rank,
                                 const spec::CheckpointPart& part);

}  // namespace perfbench::engine
