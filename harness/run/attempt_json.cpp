#include "harness/run/attempt_json.h"

#include "workloads/spec/fields_json.h"

namespace perfbench::harness {

std::string to_json_line(const AttemptRecord& record) {
  return spec::fields_to_json(record).dump();
}

AttemptRecord parse_attempt(std::string_view text) {
  spec::Json json;
  try {
    json = spec::Json::parse(text);
  } catch (const spec::Json::parse_error& e) {
    throw spec::SpecError("", e.what());
  }
  return spec::fields_from_json<AttemptRecord>(json, spec::Missing::is_error);
}

}  // namespace perfbench::harness
