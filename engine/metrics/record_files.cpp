#include "engine/metrics/record_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "engine/core/error.h"
#include "workloads/spec/process_token.h"
#include "workloads/spec/regular_file.h"

namespace perfbench::engine {
namespace {

[[noreturn]] void cannot(const char* what, const std::filesystem::path& path) {
  throw EngineError(EngineExit::failed,
                    std::string("cannot ") + what + " " + path.string() + ": " + std::strerror(errno));
}

void write_all(int descriptor, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());  // write(2) writes at most 2 GiB
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) cannot("write", path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void synchronise_file(int descriptor, const std::filesystem::path& path) {
  if (::fsync(descriptor) != 0) cannot("synchronise", path);
}

// Opening a pipe instead of a file would block the engine for ever.
int create(const std::filesystem::path& path, int flags) {
  try {
    return spec::open_regular_for_writing(path, O_CREAT | O_TRUNC | flags);
  } catch (const spec::FileError& e) {
    throw EngineError(EngineExit::failed, e.what());
  }
}

}  // namespace

LineFile::LineFile(std::filesystem::path path) : path_(std::move(path)), descriptor_(create(path_, O_APPEND)) {}

LineFile::~LineFile() {
  ::close(descriptor_);
}

void LineFile::append(std::string_view line) {
  write_all(descriptor_, std::string(line) + "\n", path_);
}

NewFile::NewFile(std::filesystem::path path) : path_(std::move(path)), descriptor_(create(path_, 0)) {}

NewFile::~NewFile() {
  ::close(descriptor_);
}

void NewFile::append(std::span<const std::byte> bytes) {
  write_all(descriptor_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path_);
}

void NewFile::synchronise() {
  synchronise_file(descriptor_, path_);
}

void write_whole_file(const std::filesystem::path& path, std::string_view text) {
  // The name contains this process: several failing ranks may write the same file at once.
  const std::filesystem::path beside = path.string() + ".partial." + spec::process_token();
  const int descriptor = create(beside, 0);
  try {
    write_all(descriptor, text, beside);
    synchronise_file(descriptor, beside);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  ::close(descriptor);
  if (std::rename(beside.c_str(), path.c_str()) != 0) cannot("rename", beside);
}

std::string read_whole_file(const std::filesystem::path& path) {
  try {
    auto text = spec::read_regular_file(path, spec::kLargestDocumentBytes);
    if (!text) throw BadInput("there is no " + path.string());
    return *std::move(text);
  } catch (const spec::FileError& e) {
    throw BadInput(e.what());
  }
}

}  // namespace perfbench::engine
