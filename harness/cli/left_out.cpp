#include "harness/cli/left_out.h"

#include <fmt/core.h>

namespace perfbench::harness {

ExitCode tell_left_out(const Connection& db, ExitCode code) {
  for (const auto& why : db.left_out()) fmt::print(stderr, "{} (left out)\n", why);
  return code == ExitCode::fine && !db.left_out().empty() ? ExitCode::usage : code;
}

}  // namespace perfbench::harness
