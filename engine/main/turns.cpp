#include "engine/main/turns.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "engine/core/error.h"
#include "workloads/spec/turn_files.h"

namespace perfbench::engine {
namespace {

int open_fifo(const std::filesystem::path& file) {
  const int fd = open(file.c_str(), O_RDWR | O_CLOEXEC);
  struct stat status {};
  if (fd >= 0 && fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode)) return fd;
  const std::string problem = fd < 0 ? std::strerror(errno) : "it is not a FIFO";
  if (fd >= 0) close(fd);
  throw BadInput("--turns: " + file.string() + ": " + problem);
}

}  // namespace

Turns::Turns(const std::filesystem::path& folder, std::int64_t rank) {
  if (folder.empty()) return;
  go_ = open_fifo(folder / spec::turn_go_file(rank));
  asks_ = open_fifo(folder / spec::kTurnAsksFile);
}

Turns::~Turns() {
  for (const int fd : {asks_, go_}) {
    if (fd >= 0) close(fd);
  }
}

void Turns::wait() {
  if (go_ < 0) return;
  char byte = 't';
  const auto retried = [](auto&& call) {
    ssize_t done = 0;
    do {
      done = call();
    } while (done < 0 && errno == EINTR);
    return done == 1;
  };
  if (!retried([&] { return write(asks_, &byte, 1); }) || !retried([&] { return read(go_, &byte, 1); })) {
    throw EngineError(EngineExit::failed, std::string("--turns: ") + std::strerror(errno));
  }
}

}  // namespace perfbench::engine
