#include "harness/cli/shell/exit_code.h"

namespace perfbench::harness {

ExitCode exit_code_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::regressed:
      return ExitCode::regression;
    case Verdict::improved:
    case Verdict::same:
      return ExitCode::fine;
    case Verdict::inconclusive:
    case Verdict::not_comparable:
      break;
  }
  return ExitCode::inconclusive;
}

}  // namespace perfbench::harness
