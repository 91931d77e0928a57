#include "harness/detect/mfu.h"

namespace perfbench::harness {

double mfu_fraction(const spec::RunSpec& run, double step_time_s, double peak_flops_per_s,
                    spec::FlopDefinition definition) {
  const auto tokens = static_cast<double>(run.global_batch * run.seq_len);
  const auto devices = static_cast<double>(run.mesh.devices());
  return spec::utilisation(tokens / step_time_s / devices, spec::flops_per_token(definition, run.model, run.seq_len),
                           peak_flops_per_s);
}

}  // namespace perfbench::harness
