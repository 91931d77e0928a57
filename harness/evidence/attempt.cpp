#include "harness/evidence/attempt.h"

#include "workloads/spec/fields_json.h"
#include "workloads/spec/parse_json.h"

namespace perfbench::harness {

std::string to_json_line(const AttemptRecord& record) {
  return spec::json_line(spec::fields_to_json(record));
}

AttemptRecord parse_attempt(std::string_view text) {
  return spec::fields_from_json<AttemptRecord>(spec::parse_json(text), spec::Missing::is_error);
}

}  // namespace perfbench::harness
