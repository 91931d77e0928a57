#include "engine/checkpoint/checkpoint_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "engine/checkpoint/checksum.h"
#include "engine/core/dtype.h"
#include "engine/core/error.h"
#include "engine/metrics/record_files.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::engine {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kStepPrefix = "step_";
constexpr const char* kPartial = ".partial";
// How much longer the slowest rank may take than the first. A shard that never arrives (the nodes share no folder, say)
// must not keep a run alive for ever.
constexpr auto kLongestWait = std::chrono::minutes(10);
constexpr auto kLookAgain = std::chrono::milliseconds(2);

[[noreturn]] void cannot(const char* what, const fs::path& path) {
  throw EngineError(EngineExit::failed,
                    std::string("checkpoint: cannot ") + what + " " + path.string() + ": " + std::strerror(errno));
}

[[noreturn]] void damaged(const fs::path& path, const std::string& what) {
  throw BadInput("checkpoint: " + path.string() + " " + what +
                 "; the checkpoint is damaged and nothing was restored from it; restore another one");
}

fs::path step_folder(const fs::path& folder, std::int64_t step) {
  std::string digits = std::to_string(step);
  if (digits.size() < 8) digits.insert(0, 8 - digits.size(), '0');
  return folder / (std::string(kStepPrefix) + digits);
}

fs::path partial_folder(const fs::path& folder, std::int64_t step) {
  return step_folder(folder, step).string() + kPartial;
}

std::string shard_name(std::int64_t rank, const char* ending) {
  std::string digits = std::to_string(rank);
  if (digits.size() < 5) digits.insert(0, 5 - digits.size(), '0');
  return "rank" + digits + ending;
}

// The step in the folder name of a whole checkpoint.
std::optional<std::int64_t> step_of(const fs::path& folder) {
  const auto name = folder.filename().string();
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  const auto digits = name.substr(kStepPrefix.size());
  if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  return std::stoll(digits);
}

// Syncs the folder, so that a new name in it survives a power loss.
void synchronise_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) cannot("open", folder);
  const int result = ::fsync(descriptor);
  ::close(descriptor);
  if (result != 0) cannot("synchronise", folder);
}

void make_folder(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (!failure) return;
  errno = failure.value();
  cannot("make the folder", folder);
}

void remove_folder(const fs::path& folder) {
  std::error_code failure;
  fs::remove_all(folder, failure);
  if (!failure) return;
  errno = failure.value();
  cannot("remove", folder);
}

void rename_folder(const fs::path& from, const fs::path& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) cannot("rename", from);
}

void require_none_later(const fs::path& folder, std::int64_t first_step) {
  const auto found = whole_checkpoints(folder);
  if (found.empty() || found.back().step <= first_step) return;
  throw BadInput("checkpoint: " + found.back().folder.string() +
                 " is from a later step than the first one of this run, " + std::to_string(first_step) +
                 "; restore it (checkpoint.restore), or give this run its own folder (checkpoint.path)");
}

void remove_unfinished(const fs::path& folder) {
  std::vector<fs::path> unfinished;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_unfinished_checkpoint(entry.path().filename().string())) unfinished.push_back(entry.path());
  }
  for (const auto& left : unfinished) remove_folder(left);
}

// At whatever moment this process ends, what is left of the folder is not taken for a checkpoint.
void remove_checkpoint(const SavedCheckpoint& checkpoint) {
  const fs::path beside = checkpoint.folder.string() + kPartial;
  remove_folder(beside);
  rename_folder(checkpoint.folder, beside);
  remove_folder(beside);
}

std::string read_text(const fs::path& path) {
  try {
    if (auto text = spec::read_regular_file(path, spec::kLargestRecordsBytes)) return *std::move(text);
  } catch (const spec::FileError& e) {
    throw BadInput(std::string("checkpoint: ") + e.what());
  }
  damaged(path, "is missing");
}

// The list of a completely written shard: a list gets its final name only then.
std::string wait_for_list(const fs::path& path, const std::atomic<bool>& stop) {
  const auto until = std::chrono::steady_clock::now() + kLongestWait;
  while (!fs::exists(path)) {
    if (stop) return {};
    if (std::chrono::steady_clock::now() > until) {
      throw EngineError(EngineExit::failed,
                        "checkpoint: " + path.string() +
                            " did not appear within ten minutes; checkpoint.path must be a folder that "
                            "the nodes of all ranks share");
    }
    std::this_thread::sleep_for(kLookAgain);
  }
  return read_text(path);
}

template <class T>
T parse(const fs::path& path, const std::string& text, T (*parser)(std::string_view)) {
  try {
    return parser(text);
  } catch (const spec::SpecError& e) {
    damaged(path, std::string("cannot be understood: ") + e.what());
  }
}

}  // namespace

bool is_unfinished_checkpoint(const std::string& name) {
  return name.starts_with(kStepPrefix) && name.ends_with(kPartial);
}

std::vector<SavedCheckpoint> whole_checkpoints(const fs::path& folder) {
  std::error_code failure;
  if (!fs::exists(folder, failure)) return {};
  std::vector<SavedCheckpoint> found;
  for (const auto& entry : fs::directory_iterator(folder, failure)) {
    if (const auto step = step_of(entry.path())) found.push_back({*step, entry.path()});
  }
  if (failure) throw BadInput("checkpoint: cannot read " + folder.string() + ": " + failure.message());
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  return found;
}

SavedCheckpoint find_checkpoint(const fs::path& path) {
  // "step_00000120/" has no file name, so its parent path is the folder.
  const fs::path named = path.has_filename() ? path : path.parent_path();
  if (fs::exists(named / spec::kCheckpointFile)) {
    if (const auto step = step_of(named)) return {*step, named};
    throw BadInput("checkpoint: " + named.string() +
                   " was never finished, or is not named like a whole checkpoint (step_00000120)");
  }
  const auto found = whole_checkpoints(named);
  if (found.empty()) {
    throw BadInput("checkpoint: no checkpoint found in " + named.string() +
                   ", which should contain folders such as step_00000120");
  }
  return found.back();
}

CheckpointFolder::CheckpointFolder(const fs::path& folder, std::int64_t first_step) {
  make_folder(folder);
  lock_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) cannot("open", folder);
  try {
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) cannot("lock", folder);
      throw BadInput("checkpoint: another run saves into " + folder.string() +
                     "; give this run its own folder (checkpoint.path)");
    }
    require_none_later(folder, first_step);
    remove_unfinished(folder);
  } catch (...) {
    ::close(lock_);
    throw;
  }
}

CheckpointFolder::~CheckpointFolder() {
  ::close(lock_);
}

void write_shard(const fs::path& folder, std::int64_t step, std::int64_t rank, std::vector<PartToWrite> parts) {
  const fs::path partial = partial_folder(folder, step);
  make_folder(partial);
  spec::CheckpointShard shard{.step = step, .rank = rank};
  const fs::path file = partial / shard_name(rank, ".bin");
  try {
    NewFile values(file);
    for (auto& [part, bytes_of] : parts) {
      const auto bytes = bytes_of();
      part.offset = shard.bytes;
      part.xxh3 = checksum(bytes.data(), bytes.size());
      values.append(bytes);
      shard.bytes += static_cast<std::int64_t>(bytes.size());
      shard.parts.push_back(std::move(part));
    }
    values.synchronise();
  } catch (...) {
    std::error_code ignored;
    fs::remove(file, ignored);  // also when the disk is full
    throw;
  }
  write_whole_file(partial / shard_name(rank, ".json"), spec::to_json_line(shard) + "\n");
}

std::int64_t complete_checkpoint(const fs::path& folder, spec::CheckpointManifest manifest, std::int64_t keep,
                                 const std::atomic<bool>& stop) {
  const fs::path partial = partial_folder(folder, manifest.step);
  for (std::int64_t rank = 0; rank < manifest.ranks; ++rank) {
    const fs::path list = partial / shard_name(rank, ".json");
    const auto text = wait_for_list(list, stop);
    if (stop) return 0;
    manifest.bytes += parse(list, text, spec::parse_checkpoint_shard).bytes;
    manifest.shards.push_back(checksum(text.data(), text.size()));
  }
  write_whole_file(partial / spec::kCheckpointFile, spec::to_json_line(manifest) + "\n");
  synchronise_folder(partial);
  // The run restored that same step and saves it again. The state is the same, so the older checkpoint stays.
  const fs::path whole = step_folder(folder, manifest.step);
  if (fs::exists(whole)) {
    remove_folder(partial);
  } else {
    rename_folder(partial, whole);
  }
  synchronise_folder(folder);
  auto found = whole_checkpoints(folder);
  const auto kept = static_cast<std::size_t>(keep);
  for (std::size_t i = 0; i + kept < found.size(); ++i) remove_checkpoint(found[i]);
  return manifest.bytes;
}

CheckpointContents read_contents(const SavedCheckpoint& checkpoint) {
  CheckpointContents out{.folder = checkpoint.folder};
  const fs::path file = checkpoint.folder / spec::kCheckpointFile;
  out.manifest = parse(file, read_text(file), spec::parse_checkpoint_manifest);
  if (out.manifest.step != checkpoint.step) {
    damaged(file, "is for step " + std::to_string(out.manifest.step) + ", unlike its folder");
  }
  if (std::ssize(out.manifest.shards) != out.manifest.ranks) {
    damaged(file, "has checksums of " + std::to_string(out.manifest.shards.size()) + " lists, of " +
                      std::to_string(out.manifest.ranks) + " ranks");
  }
  for (std::int64_t rank = 0; rank < out.manifest.ranks; ++rank) {
    const fs::path list = checkpoint.folder / shard_name(rank, ".json");
    const auto text = read_text(list);
    if (checksum(text.data(), text.size()) != out.manifest.shards[static_cast<std::size_t>(rank)]) {
      damaged(list, "has a checksum that differs from the one in " + std::string(spec::kCheckpointFile));
    }
    out.shards.push_back(parse(list, text, spec::parse_checkpoint_shard));
  }
  return out;
}

std::vector<std::byte> read_part(const CheckpointContents& contents, std::int64_t rank,
                                 const spec::CheckpointPart& part) {
  const fs::path file = contents.folder / shard_name(rank, ".bin");
  const auto dtype = named_dtype(part.dtype);
  if (!dtype) damaged(file, "has " + part.parameter + " in the unknown type '" + part.dtype + "'");
  std::vector<std::byte> bytes(static_cast<std::size_t>(part.count * size_bytes(*dtype)));
  try {
    const auto opened = spec::RegularFile::open(file);
    if (!opened) damaged(file, "is missing");
    auto* const to = reinterpret_cast<char*>(bytes.data());
    if (opened->read_at(part.offset, to, bytes.size()) != bytes.size()) {
      damaged(file, "ends within " + part.parameter);
    }
  } catch (const spec::FileError& e) {
    throw BadInput(std::string("checkpoint: ") + e.what());
  }
  if (checksum(bytes.data(), bytes.size()) != part.xxh3) {
    damaged(file, "has other bytes of " + part.parameter + " (" + std::string(spec::enum_name(part.state)) +
                      ") than were written: its checksum differs");
  }
  return bytes;
}

}  // namespace perfbench::engine
