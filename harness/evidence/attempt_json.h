// AttemptRecord to and from JSON text (one line, canonical).
#pragma once

#include <string>
#include <string_view>

#include "harness/evidence/attempt.h"

namespace perfbench::harness {

std::string to_json_line(const AttemptRecord& record);

// Throws spec::SpecError.
AttemptRecord parse_attempt(std::string_view text);

}  // namespace perfbench::harness
