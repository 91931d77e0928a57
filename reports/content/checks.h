// One thing that a nightly job looked at, for the formats of CI systems: checks.h, checks.h.
#pragma once

#include <string>
#include <vector>

#include "harness/records/alert.h"

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

// JUnit XML, as GitLab, Jenkins and others read it.
// One <testsuite> a suite, in the order of their first checks. Undecided checks are <skipped>. Bytes that XML 1.0 does
// not allow, or that are not UTF-8, become U+FFFD.
std::string to_junit(const std::vector<Check>& checks);

// Workflow commands of GitHub Actions: lines on standard output that the runner turns into annotations of the commit.
// https://docs.github.com/actions/reference/workflow-commands-for-github-actions
// "::error title=...::message" for what failed, "::warning" for what is undecided, "::notice" for passed checks that
// have a message. Nothing in a message or a title can end the command or begin another.
std::string github_annotations(const std::vector<Check>& checks);

}  // namespace perfbench::reports
