#include "engine/metrics/record_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "engine/core/error.h"
#include "workloads/spec/process_token.h"

namespace perfbench::engine {
namespace {

[[noreturn]] void cannot(const char* what, const std::filesystem::path& path) {
  throw EngineError(EngineExit::failed,
                    std::string("cannot ") + what + " " + path.string() + ": " + std::strerror(errno));
}

void write_all(int descriptor, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) cannot("write", path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

constexpr mode_t kMode = 0644;

}  // namespace

LineFile::LineFile(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, kMode);
  if (descriptor_ < 0) cannot("create", path_);
}

LineFile::~LineFile() {
  ::close(descriptor_);
}

void LineFile::append(std::string_view line) {
  write_all(descriptor_, std::string(line) + "\n", path_);
}

void write_whole_file(const std::filesystem::path& path, std::string_view text) {
  // Of this process: several ranks that fail at once write the same file.
  const std::filesystem::path beside = path.string() + ".partial." + spec::process_token();
  const int descriptor = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  if (descriptor < 0) cannot("create", beside);
  try {
    write_all(descriptor, text, beside);
    if (::fsync(descriptor) != 0) cannot("synchronise", beside);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  ::close(descriptor);
  if (std::rename(beside.c_str(), path.c_str()) != 0) cannot("rename", beside);
}

std::string read_whole_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw BadInput("cannot read " + path.string() + ": " + std::strerror(errno));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace perfbench::engine
