// What was found on a machine.
#pragma once

#include <vector>

#include "harness/judge/diagnosis.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// A row for each observation; for people a footnote says what it spoils and how to mend it. JSON: an array.
Document doctor_document(const std::vector<harness::Observation>& findings);

}  // namespace perfbench::reports
