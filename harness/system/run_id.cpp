#include "harness/system/run_id.h"

#include "workloads/spec/run_spec_json.h"

namespace perfbench::harness {

std::string run_id(const spec::RunSpec& run) {
  return sha256_hex(spec::canonical_json(run));
}

}  // namespace perfbench::harness
