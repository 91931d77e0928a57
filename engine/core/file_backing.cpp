// Memory backed by a file, for values that are not needed for a while.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "engine/core/error.h"
#include "engine/core/memory.h"
#include "engine/core/reserved_range.h"

namespace perfbench::engine {
namespace {

namespace fs = std::filesystem;

// No other process can open it, and it disappears with its last descriptor and mapping, however the process ends.
int open_nameless(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  // Some file systems do not support O_TMPFILE: there the file gets a name, which is removed at once.
  std::string name = folder / "offloaded.XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

class NamelessFile {
 public:
  explicit NamelessFile(const fs::path& folder) : folder_(folder), file_(open_nameless(folder)) {
    if (file_ < 0) refuse("it cannot be created", errno);
  }
  ~NamelessFile() { ::close(file_); }
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;

  int descriptor() const { return file_; }

  // Disk space is allocated here, where an error can be reported: writing to a page for which the disk has no space
  // raises SIGBUS.
  void grow(std::int64_t bytes) {
    if (bytes <= size_) return;
    int why = take(std::max(bytes, size_ + kGrowth));
    if (why != 0) why = take(bytes);
    if (why != 0) refuse("it cannot grow to " + std::to_string(bytes) + " bytes", why);
  }

 private:
  static constexpr std::int64_t kGrowth = std::int64_t{64} << 20;

  int take(std::int64_t size) {
    int why = EINTR;
    while (why == EINTR) why = ::posix_fallocate(file_, size_, size - size_);
    if (why == 0) size_ = size;
    return why;
  }

  [[noreturn]] void refuse(const std::string& what, int why) const {
    throw OutOfMemory("offloaded values go to a file in " + folder_.string() + ": " + what + ": " + std::strerror(why));
  }

  fs::path folder_;
  int file_;
  std::int64_t size_ = 0;
};

class FileBacking : public ArenaBacking {
 public:
  explicit FileBacking(fs::path folder) : folder_(std::move(folder)) {}

  void* at(std::int64_t offset, std::int64_t bytes) override {
    if (!file_) {
      file_.emplace(folder_);
      range_.emplace(MAP_SHARED, file_->descriptor());
    }
    file_->grow(offset + bytes);
    return range_->at(offset, bytes);
  }

  // For a shared mapping this drops only this process's view. The file keeps what was written, and it stays in memory
  // until the kernel has a better use for that (Linux man-pages, madvise(2), MADV_DONTNEED).
  void put_aside(std::int64_t offset, std::int64_t bytes) override {
    const std::int64_t page = ::sysconf(_SC_PAGESIZE);
    const std::int64_t begin = offset / page * page;
    range_->advise(begin, offset + bytes - begin, MADV_DONTNEED);
  }

 private:
  fs::path folder_;
  std::optional<NamelessFile> file_;
  std::optional<ReservedRange> range_;  // where the file is mapped
};

}  // namespace

std::unique_ptr<ArenaBacking> make_file_backing(fs::path folder) {
  return std::make_unique<FileBacking>(std::move(folder));
}

}  // namespace perfbench::engine
