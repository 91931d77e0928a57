// Exit codes of perfbench. They are documented and stable.
#pragma once

#include "harness/stats/verdict.h"

namespace perfbench::harness {

enum class ExitCode {
  fine = 0,          // success; no regression
  regression = 1,    // a comparison found a regression
  inconclusive = 2,  // a comparison was inconclusive, or nothing was comparable
  usage = 3,         // bad arguments or bad input
  failure = 4,       // the harness or a cell's engine failed
};

// 0 no regression, 1 a regression, 2 something is undecided or nothing was comparable.
ExitCode exit_code_of(Verdict verdict);

}  // namespace perfbench::harness
