// The peak that MFU is held against.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "harness/store/query.h"
#include "workloads/spec/hardware.h"

namespace perfbench::harness {

using HardwareByName = std::map<std::string, spec::HardwareSpec>;

// Of one device: of the run's named hardware, or on "host" the fp32 rate that the engine measured when the attempt
// began (of a rank's threads: there a rank is a device). Nothing if it is not known.
std::optional<double> device_peak_flops_per_s(const StoredAttempt& attempt, const HardwareByName& hardware);

}  // namespace perfbench::harness
