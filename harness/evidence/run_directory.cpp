#include "harness/evidence/run_directory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "harness/system/files.h"
#include "workloads/spec/process_token.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kFolderDigits = 16;

[[noreturn]] void fail(std::string_view what, const fs::path& path) {
  const int error = errno;
  const char* advice =
      error == ENOSPC || error == EDQUOT ? "; free some space, or choose another folder with --runs" : "";
  throw RunDirectoryError(fmt::format("[run] cannot {} {}: {}{}", what, path.string(), std::strerror(error), advice));
}

std::optional<std::int64_t> attempt_number(const fs::path& folder) {
  const auto name = folder.filename().string();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size() || number < 1) return std::nullopt;
  return number;
}

std::vector<fs::path> folders_below(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (entry.is_directory(none)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

void flush_folder(const fs::path& folder) {
  const FileDescriptor fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some network file systems cannot flush a folder. The rename is valid all the same.
  if (!fd.is_open() || (fsync(fd.get()) != 0 && errno != EINVAL)) fail("flush", folder);
}

}  // namespace

fs::path run_folder(const fs::path& runs, const std::string& run_id) {
  return runs / run_id.substr(0, kFolderDigits);
}

std::vector<AttemptDirectory> list_attempts(const fs::path& runs, const std::string& run_id) {
  std::vector<AttemptDirectory> found;
  for (const auto& folder : folders_below(run_folder(runs, run_id))) {
    if (const auto number = attempt_number(folder)) found.push_back({folder, *number});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.attempt < b.attempt; });
  return found;
}

// Its name is its number.
AttemptDirectory attempt_directory(const fs::path& path) {
  return {.path = path, .attempt = std::max<std::int64_t>(1, std::atoll(path.filename().c_str()))};
}

bool is_complete_attempt(const fs::path& attempt) {
  std::error_code error;
  return fs::exists(attempt / kAttemptFile, error);
}

AttemptDirectory create_attempt(const fs::path& runs, const std::string& run_id) {
  const auto folder = run_folder(runs, run_id);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw RunDirectoryError(fmt::format("[run] cannot create {}: {}", folder.string(), error.message()));
  const auto existing = list_attempts(runs, run_id);
  for (std::int64_t attempt = existing.empty() ? 1 : existing.back().attempt + 1;; ++attempt) {
    const auto path = folder / fmt::format("{:03}", attempt);
    if (mkdir(path.c_str(), 0777) == 0) return {path, attempt};
    if (errno != EEXIST) fail("create", path);
  }
}

std::optional<std::string> read_file(const fs::path& file) {
  try {
    return spec::read_regular_file(file, spec::kLargestRecordsBytes);
  } catch (const spec::FileError& e) {
    throw RunDirectoryError(fmt::format("[run] {}", e.what()));
  }
}

void write_atomically(const fs::path& file, std::string_view text, FileMode mode) {
  auto temporary = file;
  temporary += fmt::format(".{}.tmp", spec::process_token());
  try {
    FileDescriptor fd(
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode == FileMode::executable ? 0777 : 0666));
    if (!fd.is_open()) fail("create", temporary);
    if (!write_all(fd.get(), text)) fail("write", temporary);
    if (fsync(fd.get()) != 0) fail("flush", temporary);
    if (rename(temporary.c_str(), file.c_str()) != 0) fail("rename to", file);
  } catch (...) {
    unlink(temporary.c_str());
    throw;
  }
  flush_folder(file.parent_path());
}

}  // namespace perfbench::harness
