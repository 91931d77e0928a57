#include "harness/adapter/output_log.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "harness/evidence/run_directory.h"
#include "workloads/spec/regular_file.h"

namespace perfbench::adapter {
namespace {

int create_log(const std::filesystem::path& file) {
  try {
    return spec::open_regular_for_writing(file, O_CREAT | O_TRUNC);
  } catch (const spec::FileError& e) {
    throw harness::RunDirectoryError(std::string("[adapter] ") + e.what());
  }
}

}  // namespace

OutputLog::OutputLog(std::filesystem::path file) : path_(std::move(file)), file_(create_log(path_)) {}

void OutputLog::write(std::string_view text) {
  if (harness::write_all(file_.get(), text)) return;
  throw harness::RunDirectoryError("[adapter] cannot write " + path_.string() + ": " + std::strerror(errno));
}

void OutputLog::add(std::string_view text) {
  const auto room = static_cast<std::size_t>(kHeadBytes - head_bytes_);
  const auto head = text.substr(0, room);
  write(head);
  head_bytes_ += static_cast<std::int64_t>(head.size());
  tail_.append(text.substr(head.size()));
  const auto most = static_cast<std::size_t>(kTailBytes);
  if (tail_.size() < 2 * most) return;
  dropped_bytes_ += static_cast<std::int64_t>(tail_.size() - most);
  tail_.erase(0, tail_.size() - most);
}

void OutputLog::finish() {
  const auto most = static_cast<std::size_t>(kTailBytes);
  if (tail_.size() > most) {
    dropped_bytes_ += static_cast<std::int64_t>(tail_.size() - most);
    tail_.erase(0, tail_.size() - most);
  }
  if (dropped_bytes_ > 0)
    write("\n[perfbench: " + std::to_string(dropped_bytes_) + " bytes of output are left out here]\n");
  write(tail_);
  tail_.clear();
}

}  // namespace perfbench::adapter
