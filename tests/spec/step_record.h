// A line of steps.rankN.jsonl as a record; the product reads such lines field by field (workloads/spec/step_line.h).
#pragma once

#include <string_view>

#include "workloads/spec/fields_json.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/step_record.h"

namespace perfbench::spec {

inline StepRecord parse_step_record(std::string_view line) {
  return fields_from_json<StepRecord>(parse_json(line), Missing::is_error);
}

}  // namespace perfbench::spec
