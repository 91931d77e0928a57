// Compares text with a file of tests/reports/golden. PERFBENCH_APPROVE=1 in the environment rewrites the file instead.
#pragma once

#include <string>

namespace perfbench::reports {

void expect_golden(const std::string& name, const std::string& actual);

}  // namespace perfbench::reports
