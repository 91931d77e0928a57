#include "workloads/spec/operation_work.h"

#include "workloads/spec/fields_json.h"
#include "workloads/spec/parse_json.h"

namespace perfbench::spec {

std::string to_json_line(const DryOperations& report) {
  return json_line(fields_to_json(report));
}

}  // namespace perfbench::spec
