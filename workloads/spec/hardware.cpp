#include "workloads/spec/hardware.h"

namespace perfbench::spec {

double mfu_peak_flops_per_s(const HardwareSpec& hardware, Precision precision) {
  const auto& peak = hardware.peak_flops_per_s;
  switch (precision) {
    case Precision::fp32:
      return peak.fp32;
    case Precision::tf32:
      return peak.tf32;
    case Precision::bf16:
    case Precision::fp8:
      return peak.bf16;
  }
  return 0;
}

}  // namespace perfbench::spec
