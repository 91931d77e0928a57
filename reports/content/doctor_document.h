// The observations about a machine.
#pragma once

#include <vector>

#include "harness/judge/diagnosis.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// A row for each observation; for people, a footnote describes its effect and its remedy. JSON: an array.
Document doctor_document(const std::vector<harness::Observation>& findings);

}  // namespace perfbench::reports
