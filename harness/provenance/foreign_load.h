// What others took from the cores while something of ours ran. From the cores' own counters and the time that our
// processes were charged, so that work which began and ended in between is seen too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/provenance/cpu_activity.h"

namespace perfbench::harness {

struct ForeignLoad {
  double steal_fraction = 0;    // of the time of our cores, taken by the hypervisor
  double foreign_fraction = 0;  // of the time of our cores, used by others
  std::string busiest;          // "ninja (pid 812) on 0.90 cores", of those still alive; empty: none stands out
};

struct LoadMoment {
  CpuSnapshot cpus;
  double own_s = 0;  // user and system time of this process and of its ended descendants
};

// Of now.
LoadMoment load_moment();

// Cores that this process may run on.
std::vector<std::int64_t> own_cores();

// Zero of both when the two moments are less than kFewestTicks of one core's clock ticks apart, summed over `cores`:
// the counters are too coarse for it. `self` is left out of `busiest`.
ForeignLoad load_between(const LoadMoment& before, const LoadMoment& after, const std::vector<std::int64_t>& cores,
                         double ticks_per_s, std::int64_t self);

inline constexpr std::int64_t kFewestTicks = 20;

// Between load_moment() before and after, on this machine.
ForeignLoad load_since(const LoadMoment& before);

}  // namespace perfbench::harness
