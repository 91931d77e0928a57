#include "harness/records/attempt_name.h"

namespace perfbench::harness {

AttemptName name_of(const AttemptRecord& record) {
  return {record.run_id, record.sweep_id, record.attempt, record.started_utc};
}

std::string to_text(const AttemptName& name) {
  return "run_id " + name.run_id + ", sweep_id " + name.sweep_id + ", attempt " + std::to_string(name.attempt) +
         ", started_utc " + name.started_utc;
}

}  // namespace perfbench::harness
