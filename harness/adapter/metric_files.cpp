#include "harness/adapter/metric_files.h"

#include <fcntl.h>
#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "harness/evidence/run_directory.h"
#include "harness/system/files.h"
#include "workloads/spec/regular_file.h"

namespace perfbench::adapter {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

// Calls `take` with each chunk, for up to `most_bytes`. Returns whether that was the whole file.
template <class Take>
bool each_chunk(const fs::path& path, std::int64_t most_bytes, const Take& take) {
  const auto file = spec::RegularFile::open(path);
  if (!file) throw spec::FileError(path, "does not exist");
  std::string chunk(kChunkBytes, '\0');
  std::int64_t at = 0;
  while (at < most_bytes) {
    const auto wanted = std::min(chunk.size(), static_cast<std::size_t>(most_bytes - at));
    const auto size = file->read_at(at, chunk.data(), wanted);
    if (size == 0) return true;
    take(std::string_view(chunk).substr(0, size));
    at += static_cast<std::int64_t>(size);
  }
  return at >= file->bytes();
}

}  // namespace

std::optional<fs::path> find_metric_file(const fs::path& path) {
  std::error_code none;
  const auto pattern = path.filename().string();
  if (pattern.find_first_of("*?") == std::string::npos) {
    return fs::exists(path, none) ? std::optional(path) : std::nullopt;
  }
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(path.parent_path(), none)) {
    if (fnmatch(pattern.c_str(), entry.path().filename().c_str(), 0) == 0) found.push_back(entry.path());
  }
  if (found.empty()) return std::nullopt;
  if (found.size() == 1) return found.front();
  std::ranges::sort(found);
  throw readers::ReaderError(path.string() + " names " + std::to_string(found.size()) + " files, " +
                             found[0].filename().string() + " and " + found[1].filename().string() +
                             " among them; name one, or let each run write into its own folder");
}

std::optional<FileState> file_state(const fs::path& path) {
  std::error_code none;
  const auto bytes = fs::file_size(path, none);
  if (none) return std::nullopt;
  const auto written = fs::last_write_time(path, none);
  if (none) return std::nullopt;
  return FileState{static_cast<std::int64_t>(bytes), written};
}

ReadFile read_metric_file(const fs::path& path, const std::string& format, const readers::Settings& settings) {
  ReadFile out;
  const auto reader =
      readers::make_reader(format, settings, [&out](const spec::Sample& sample) { out.samples.push_back(sample); });
  each_chunk(path, INT64_MAX, [&reader](std::string_view chunk) { reader->feed(chunk, std::nullopt); });
  reader->finish();
  for (const auto& note : reader->notes()) out.notes.push_back(path.filename().string() + ": " + note);
  return out;
}

bool copy_metric_file(const fs::path& path, const fs::path& folder, std::size_t number) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  const auto copy = folder / (std::to_string(number) + "-" + path.filename().string());
  const harness::FileDescriptor out(spec::open_regular_for_writing(copy, O_CREAT | O_TRUNC));
  return each_chunk(path, kLargestCopyBytes, [&](std::string_view chunk) {
    if (harness::write_all(out.get(), chunk)) return;
    throw harness::RunDirectoryError("[adapter] cannot write " + copy.string() + ": " + std::strerror(errno));
  });
}

}  // namespace perfbench::adapter
