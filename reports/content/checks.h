// One check of a nightly job, for the formats of CI systems.
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

// A live bad alert counts as failed. An improvement, and an alert that a user closed, count as passed with a message.
Check check_of(const harness::Alert& alert);

// JUnit XML for GitLab, Jenkins and others. There is one <testsuite> for each suite, in the order of their first
// checks. Undecided checks are <skipped>. Bytes that XML 1.0 does not allow, and invalid UTF-8, become U+FFFD.
std::string to_junit(const std::vector<Check>& checks);

// Workflow commands of GitHub Actions: lines on standard output that the runner turns into annotations of the commit.
// https://docs.github.com/actions/reference/workflow-commands-for-github-actions Failed checks become "::error
// title=...::message", undecided ones "::warning", passed ones with a message "::notice". No message or title can end
// the command or begin another one.
std::string github_annotations(const std::vector<Check>& checks);

}  // namespace perfbench::reports
