// The files of checkpoints (workloads/spec/checkpoint_record.h) in the folder that holds them: how one comes to be
// whole, which there are, and how an older one goes. Knows nothing of models and meshes but what it is given.
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
// The whole ones of a folder, by step; none where there is no such folder. Throws BadInput for one it cannot read.
std::vector<SavedCheckpoint> whole_checkpoints(const std::filesystem::path& folder);
// The one that `path` is, or the newest of those in it. Throws BadInput, naming what was looked for, if there is none.
SavedCheckpoint find_checkpoint(const std::filesystem::path& path);

// Whether a file of that name in such a folder is what a process left that ended while it saved.
bool is_unfinished_checkpoint(const std::string& name);

// A folder that one run saves into, until it is destroyed or its process ends.
class CheckpointFolder {
 public:
  // Before the first save of a run whose first step is `first_step`, by rank 0: the folder is there, what an earlier
  // process left unfinished is gone. Throws BadInput for one that another run saves into, or that holds a checkpoint of
  // a later step: the run's own would never be the newest.
  CheckpointFolder(const std::filesystem::path& folder, std::int64_t first_step);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

 private:
  int lock_;  // descriptor of the folder itself
};

struct PartToWrite {
  spec::CheckpointPart part;  // offset and checksum are filled in when it is written
  // Called once, when it is the part's turn; must stay until the next part's is.
  std::function<std::span<const std::byte>()> bytes;
};
// What a rank has of it: by each rank, in any order. On the disk when it returns. Throws EngineError, such as for a
// full disk, and leaves nothing that could be taken for a part of a checkpoint.
void write_shard(const std::filesystem::path& folder, std::int64_t step, std::int64_t rank,
                 std::vector<PartToWrite> parts);

// By rank 0, with manifest.step, ranks, model and lora: waits until each rank has written its shard, and makes the
// checkpoint whole. Then all but the newest `keep` go. Ends early, without one, when `stop` is set. Throws EngineError
// when a rank's shard does not come. Returns the bytes of all values.
std::int64_t complete_checkpoint(const std::filesystem::path& folder, spec::CheckpointManifest manifest,
                                 std::int64_t keep, const std::atomic<bool>& stop);

// A checkpoint to be read: what each rank wrote, by its own list.
struct CheckpointContents {
  std::filesystem::path folder;
  spec::CheckpointManifest manifest;
  std::vector<spec::CheckpointShard> shards;  // by rank
};
// Throws BadInput naming the file that is missing, damaged or of another version.
CheckpointContents read_contents(const SavedCheckpoint& checkpoint);
// The bytes of a part of `rank`. Throws BadInput where they are not those that were written.
std::vector<std::byte> read_part(const CheckpointContents& contents, std::int64_t rank,
                                 const spec::CheckpointPart& part);

}  // namespace perfbench::engine
