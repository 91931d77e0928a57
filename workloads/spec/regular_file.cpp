#include "workloads/spec/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace perfbench::spec {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
constexpr mode_t kNewFileMode = 0666;  // before the umask

const char* kind_name(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

[[noreturn]] void refuse_kind(const fs::path& path, mode_t mode) {
  throw FileError(path, std::string("is ") + kind_name(mode) + ", but a regular file is needed: remove it");
}

// The error for a failed open.
[[noreturn]] void refuse_open(const fs::path& path, const char* doing) {
  const int error = errno;
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) refuse_kind(path, found.st_mode);
  throw FileError(path, std::string("cannot be ") + doing + ": " + std::strerror(error));
}

// Checks the open file itself, because its name may refer to another file at any time. Closes a refused file.
enum class Devices { refused, taken };
struct stat checked_state(const fs::path& path, int descriptor, Devices devices) {
  struct stat found {};
  if (::fstat(descriptor, &found) == 0) {
    if (S_ISREG(found.st_mode) || (devices == Devices::taken && S_ISCHR(found.st_mode))) return found;
  }
  ::close(descriptor);
  refuse_kind(path, found.st_mode);
}

void check_size(const fs::path& path, std::int64_t bytes, std::int64_t most_bytes) {
  if (bytes <= most_bytes) return;
  throw FileError(path, "holds " + std::to_string(bytes) + " bytes or more, at most " + std::to_string(most_bytes) +
                            " are read: it is damaged, or not ours; remove it");
}

}  // namespace

RegularFile::RegularFile(fs::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {
  bytes_ = checked_state(path_, descriptor_, Devices::refused).st_size;
}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), bytes_(other.bytes_) {}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<RegularFile> RegularFile::open(const fs::path& path, std::int64_t most_bytes) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT) return std::nullopt;
  if (descriptor < 0) refuse_open(path, "read");
  RegularFile file(path, descriptor);
  check_size(path, file.bytes(), most_bytes);
  return file;
}

std::size_t RegularFile::read_at(std::int64_t offset, char* data, std::size_t size) const {
  std::size_t filled = 0;
  while (filled < size) {
    const auto got = ::pread(descriptor_, data + filled, size - filled, offset + static_cast<std::int64_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw FileError(path_, std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

std::optional<std::string> read_regular_file(const fs::path& path, std::int64_t most_bytes) {
  const auto file = RegularFile::open(path, most_bytes);
  if (!file) return std::nullopt;
  // one byte more, so that the end is noticed at once
  std::string text(static_cast<std::size_t>(file->bytes()) + 1, '\0');
  std::size_t filled = file->read_at(0, text.data(), text.size());
  // Also reads to the end a file that grows meanwhile.
  while (filled == text.size()) {
    check_size(path, static_cast<std::int64_t>(filled), most_bytes);
    text.resize(filled + kChunkBytes);
    filled += file->read_at(static_cast<std::int64_t>(filled), text.data() + filled, kChunkBytes);
  }
  check_size(path, static_cast<std::int64_t>(filled), most_bytes);
  text.resize(filled);
  return text;
}

int open_regular_for_writing(const fs::path& path, int flags) {
  // O_TRUNC comes later, so that anything but a regular file stays unchanged.
  const int descriptor =
      ::open(path.c_str(), (flags & ~O_TRUNC) | O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, kNewFileMode);
  if (descriptor < 0) refuse_open(path, "created");
  const auto found = checked_state(path, descriptor, Devices::taken);
  if ((flags & O_TRUNC) != 0 && S_ISREG(found.st_mode) && ::ftruncate(descriptor, 0) != 0) {
    const int error = errno;
    ::close(descriptor);
    throw FileError(path, std::string("cannot be emptied: ") + std::strerror(error));
  }
  return descriptor;
}

}  // namespace perfbench::spec
