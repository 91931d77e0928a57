// A fixed piece of work whose time tells whether the machine changed under a run: as many integer additions as fused
// multiply-adds, so that all issue slots of a core are busy and a neighbour on the same core shows, which it does not
// in a loop of multiply-adds alone. Load average and steal time do not show it either.
#pragma once

#include <cstdint>

namespace perfbench::engine {

// Runs the loop on `threads` threads at once and returns the nanoseconds of the slowest. About 2 ms of work after a
// warm-up of about 0.5 ms that brings the vector units to speed.
std::int64_t probe_noise(int threads);

// fp32 multiply-adds per second times two, on `threads` threads: the best of several slices of about 3 ms, in the
// widest vectors this build uses.
double measure_peak_flops_per_s(int threads);

}  // namespace perfbench::engine
