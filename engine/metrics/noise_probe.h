// A fixed piece of work whose time shows whether the machine changed under a run. It has as many integer additions as
// fused multiply-adds, so all issue slots of a core are busy and a neighbour on the same core is noticed. A loop of
// multiply-adds alone would not notice it, and neither do load average and steal time.
#pragma once

#include <cstdint>

namespace perfbench::engine {

// Runs the loop on `threads` threads at once and returns the nanoseconds of the slowest. It is about 2 ms of work after
// a warm-up of about 0.5 ms that brings the vector units to speed.
std::int64_t probe_noise(int threads);

// The fp32 FLOPs per second (two for each multiply-add) on `threads` threads: the best of several slices of about 3 ms,
// in the widest vectors that this build uses.
double measure_peak_flops_per_s(int threads);

}  // namespace perfbench::engine
