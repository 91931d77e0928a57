// JUnit XML, as GitLab, Jenkins and others read it.
#pragma once

#include <string>
#include <vector>

#include "reports/check.h"

namespace perfbench::reports {

// One <testsuite> a suite, in the order of their first checks. Undecided checks are <skipped>. Bytes that XML 1.0 does
// not allow, or that are not UTF-8, become U+FFFD.
std::string to_junit(const std::vector<Check>& checks);

}  // namespace perfbench::reports
