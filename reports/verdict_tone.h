#pragma once

#include "harness/verdict/verdict.h"
#include "reports/document/document.h"

namespace perfbench::reports {

Tone tone_of(harness::Verdict verdict);

}  // namespace perfbench::reports
