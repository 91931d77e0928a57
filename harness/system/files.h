// An owned file descriptor, and writing to one.
#pragma once

#include <stdlib.h>  // mkdtemp
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/system/input_error.h"
#include "workloads/spec/process_token.h"

namespace perfbench::harness {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() { close(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

// Returns whether all of the text was written; if not, errno says why.
inline bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// A counter on which a thread can wait together with other descriptors.
class Event {
 public:
  Event() : fd_(eventfd(0, EFD_CLOEXEC)) {
    if (!fd_.is_open()) throw std::system_error(errno, std::generic_category(), "[launch] cannot create an eventfd");
  }
  int fd() const { return fd_.get(); }
  void add() { eventfd_write(fd_.get(), 1); }
  // Waits until something was added, and returns the sum since the last call.
  std::uint64_t take() {
    eventfd_t count = 0;
    eventfd_read(fd_.get(), &count);
    return count;
  }

 private:
  FileDescriptor fd_;
};

// The folder for temporary files, and temporary files that are removed with their object. The folder is the one that
// TMPDIR, TMP, TEMP or TEMPDIR names, or /tmp. Throws InputError, naming the variable, if it does not exist.
inline std::filesystem::path folder_of_temporary_files() {
  std::error_code error;
  auto folder = std::filesystem::temp_directory_path(error);
  if (!error) return folder;
  for (const auto* variable : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {  // in the order of the standard library
    if (const char* const value = std::getenv(variable)) {
      throw InputError(std::string(variable) + " is '" + value + "', which is not a folder (" + error.message() +
                       "); name one that exists");
    }
  }
  throw InputError("/tmp is not a folder (" + error.message() + "); name another with TMPDIR");
}

// Removes files that a killed process left behind from TemporaryFile(beside, what). A running process keeps writing to
// its file, so a file that has not changed for an hour has no owner.
inline void remove_old_temporary_files(const std::filesystem::path& beside, const std::string& what) {
  constexpr auto kLongestPause = std::chrono::hours(1);
  const auto begin = beside.filename().string() + ".";
  const auto end = "." + what;
  std::vector<std::filesystem::path> old;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::absolute(beside).parent_path(), ignored)) {
    const auto name = entry.path().filename().string();
    const auto end_at = begin.size() + spec::process_token().size();
    if (!name.starts_with(begin) || name.compare(std::min(end_at, name.size()), end.size(), end) != 0) continue;
    if (name.find_first_not_of("0123456789abcdef", begin.size()) != end_at) continue;
    const auto suffix = name.substr(end_at + end.size());
    if (!suffix.empty() && suffix != "-wal" && suffix != "-shm" && suffix != "-journal") continue;
    const auto written = entry.last_write_time(ignored);
    if (!ignored && written < std::filesystem::file_time_type::clock::now() - kLongestPause)
      old.push_back(entry.path());
  }
  for (const auto& path : old) std::filesystem::remove(path, ignored);
}

class TemporaryFile {
 public:
  // Also removes files that other processes left behind. Throws InputError if the folder does not exist.
  TemporaryFile(const std::filesystem::path& beside, const std::string& what)
      : path_(beside.string() + "." + spec::process_token() + "." + what) {
    const auto folder = std::filesystem::absolute(beside).parent_path();
    if (!std::filesystem::is_directory(folder)) {
      throw InputError(beside.string() + ": the folder " + folder.string() + " does not exist");
    }
    remove_old_temporary_files(beside, what);
    remove();
  }
  ~TemporaryFile() { remove(); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  // Also removes the files that SQLite keeps beside a database.
  void remove() const {
    std::error_code ignored;
    for (const auto* suffix : {"", "-wal", "-shm", "-journal"})
      std::filesystem::remove(path_.string() + suffix, ignored);
  }
  std::filesystem::path path_;
};

// A folder that is removed with its object.
class TemporaryFolder {
 public:
  // Makes a folder inside the folder for temporary files; its name begins with `prefix`. Throws InputError.
  explicit TemporaryFolder(const std::string& prefix) {
    const auto folder = folder_of_temporary_files();
    std::string pattern = (folder / (prefix + "-XXXXXX")).string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw InputError("cannot create a folder in " + folder.string() + ": " + std::strerror(errno) +
                       "; name another with TMPDIR");
    }
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace perfbench::harness
