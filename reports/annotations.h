// Workflow commands of GitHub Actions: lines on standard output that the runner turns into annotations of the commit.
// https://docs.github.com/actions/reference/workflow-commands-for-github-actions
#pragma once

#include <string>
#include <vector>

#include "reports/check.h"

namespace perfbench::reports {

// "::error title=...::message" for what failed, "::warning" for what is undecided, "::notice" for passed checks that
// have a message. Nothing in a message or a title can end the command or begin another.
std::string github_annotations(const std::vector<Check>& checks);

}  // namespace perfbench::reports
