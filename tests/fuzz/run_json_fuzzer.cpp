// libFuzzer: any bytes as run.json give a run or a SpecError, and a run is written as bytes that read back to the same
// run.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "workloads/spec/run_spec.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/spec_error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace perfbench::spec;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto written = canonical_json(parse_run_json(text));
    if (canonical_json(parse_run_json(written)) != written) std::abort();
  } catch (const SpecError&) {
    return 0;
  }
  return 0;
}
