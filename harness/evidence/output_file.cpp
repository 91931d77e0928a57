#include "harness/evidence/output_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "harness/system/files.h"
#include "workloads/spec/process_token.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

constexpr mode_t kPermissionBits = 07777;
constexpr int kMostLinks = 40;  // the limit of Linux (path_resolution(7))

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
  throw OutputError(fmt::format("{} cannot be written: {}", file.string(), why));
}
[[noreturn]] void refuse(const fs::path& file, int error) {
  refuse(file, std::strerror(error));
}

// Follows the links of the last name, even if they lead to a file that does not exist yet.
fs::path behind_links(const fs::path& named) {
  auto file = fs::absolute(named);
  for (int links = 0; links < kMostLinks; ++links) {
    std::error_code error;
    const auto target = fs::read_symlink(file, error);
    if (error) return file;
    file = file.parent_path() / target;  // an absolute target replaces the folder
  }
  refuse(named, ELOOP);
}

FileDescriptor open_in_place(const fs::path& file) {
  FileDescriptor fd(open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.is_open()) refuse(file, errno);
  return fd;
}

void copy_into(const fs::path& finished, const fs::path& file) {
  const FileDescriptor in(open(finished.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in.is_open()) refuse(finished, errno);
  const auto out = open_in_place(file);
  std::array<char, 1 << 16> bytes{};
  while (true) {
    const auto got = read(in.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(file, errno);
    if (got == 0) return;
    if (!write_all(out.get(), {bytes.data(), static_cast<std::size_t>(got)})) refuse(file, errno);
  }
}

}  // namespace

fs::path OutputPlace::unfinished_stem() const {
  const fs::path folder = in_place ? folder_of_temporary_files() : file.parent_path();
  return folder / file.filename();
}

OutputPlace output_place(const fs::path& named) {
  OutputPlace place{.file = behind_links(named)};
  struct stat found {};
  if (stat(place.file.c_str(), &found) != 0) {
    if (errno != ENOENT) refuse(named, errno);
    std::error_code error;
    const auto folder = place.file.parent_path();
    if (!fs::is_directory(folder, error)) refuse(named, fmt::format("the folder {} does not exist", folder.string()));
    return place;
  }
  if (S_ISDIR(found.st_mode)) refuse(named, "it is a folder");
  if (S_ISREG(found.st_mode)) {
    place.permissions = found.st_mode & kPermissionBits;
  } else {
    place.in_place = true;
  }
  return place;
}

void write_output(const fs::path& named, std::string_view text) {
  write_output(named, [text](const WriteText& write) { write(text); });
}

void write_output(const fs::path& named, const std::function<void(const WriteText&)>& parts) {
  const auto place = output_place(named);
  if (place.in_place) {
    const auto fd = open_in_place(place.file);
    parts([&](std::string_view text) {
      if (!write_all(fd.get(), text)) refuse(named, errno);
    });
    return;
  }
  const fs::path unfinished = place.unfinished_stem().string() + "." + spec::process_token() + ".tmp";
  try {
    {
      const FileDescriptor fd(open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
      if (!fd.is_open()) refuse(named, errno);
      parts([&](std::string_view text) {
        if (!write_all(fd.get(), text)) refuse(named, errno);
      });
    }
    move_to_output(unfinished, place);
  } catch (...) {
    unlink(unfinished.c_str());
    throw;
  }
}

void move_to_output(const fs::path& finished, const OutputPlace& place) {
  if (place.in_place) {
    copy_into(finished, place.file);
    unlink(finished.c_str());
    return;
  }
  const FileDescriptor fd(open(finished.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) refuse(place.file, errno);
  if (place.permissions && fchmod(fd.get(), *place.permissions) != 0) refuse(place.file, errno);
  if (fsync(fd.get()) != 0) refuse(place.file, errno);
  if (rename(finished.c_str(), place.file.c_str()) != 0) refuse(place.file, errno);
}

}  // namespace perfbench::harness
