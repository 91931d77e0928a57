#include "harness/cli/left_out.h"

#include "reports/format/print.h"

namespace perfbench::harness {

ExitCode tell_left_out(const std::set<std::string>& left_out, ExitCode code) {
  for (const auto& why : left_out) reports::print(stderr, "{} (left out)\n", why);
  return code == ExitCode::fine && !left_out.empty() ? ExitCode::usage : code;
}

ExitCode tell_left_out(const Connection& db, ExitCode code) {
  return tell_left_out(db.left_out(), code);
}

}  // namespace perfbench::harness
