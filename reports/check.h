// One thing that a nightly job looked at, for the formats of CI systems: junit.h, annotations.h.
#pragma once

#include <string>
#include <vector>

#include "harness/alerts/alert.h"

namespace perfbench::reports {

enum class CheckOutcome { passed, failed, undecided };

struct Check {
  std::string suite;  // matrix
  std::string name;   // "model=a step_time_s"
  CheckOutcome outcome = CheckOutcome::passed;
  std::string message;  // one line; may be empty when passed
  std::string detail;   // any number of lines
};

// A live bad alert has failed. An improvement, and what was closed by a person, has not, and says so.
Check check_of(const harness::Alert& alert);

}  // namespace perfbench::reports
