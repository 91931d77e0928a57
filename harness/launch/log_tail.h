// What the end of an engine's log says.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace perfbench::harness {

// The last lines that say something: without blank lines and mpirun's frames. At most `count`, the oldest first; empty
// when there is no log.
std::vector<std::string> log_tail(const std::filesystem::path& log, std::size_t count);

// What a launcher says in the end of a log, one text a message. Open MPI puts each of its own between two lines of
// dashes, so that it is told from what ranks and libraries print.
std::vector<std::string> launcher_messages(const std::filesystem::path& log);

struct RankSignal {
  std::int64_t rank = 0;
  int signal = 0;
};

// mpirun reports a rank's signal in words: "... process rank 1 with PID 77 on node n exited on signal 9 (Killed)."
std::optional<RankSignal> reported_signal(const std::vector<std::string>& lines);

}  // namespace perfbench::harness
