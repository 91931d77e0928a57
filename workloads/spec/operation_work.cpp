#include "workloads/spec/operation_work.h"

#include "workloads/spec/fields_json.h"
#include "workloads/spec/parse_json.h"

namespace perfbench::spec {

std::string to_json_line(const DryOperations& report) {
  return json_line(fields_to_json(report));
}

DryOperations parse_dry_operations(std::string_view line) {
  return fields_from_json<DryOperations>(parse_json(line), Missing::is_error);
}

}  // namespace perfbench::spec
