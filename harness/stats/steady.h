// Which steps of a run count, and whether the machine was steady meanwhile. Pure functions of the series.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "workloads/spec/run_kinds.h"

namespace perfbench::harness {

// short_run: too few steps for the rule; all but the first are used (or all, if there is only one). still_changing:
// every step that may be dropped was dropped, because the run was too short to become steady.
enum class Steadiness { steady, short_run, still_changing };

struct SteadySteps {
  std::size_t first = 0;  // index of the first steady step: the steps before it are warm-up
  std::size_t count = 0;
  Steadiness steadiness = Steadiness::short_run;
};

// The warm-up rule. The first step is always warm-up: it touches every page, starts the threads and fills the caches of
// the libraries. Then leading steps are dropped while they are slower than
//     m + max(4 s, 5 % of m),
// where m is the median and s the robust deviation of the second half of the run. The second half is never dropped. 4 s
// keeps all but 1 in 30000 steps of Gaussian noise. The 5 % keep a very quiet run from losing steps because of tiny
// differences. A run of fewer than 4 steps is a short run.
SteadySteps find_steady_steps(const std::vector<double>& step_s);

// How far the noise probe (a fixed amount of work before each step) moved: (q90 - q10) / median of its times. The probe
// measures the machine and not the run. nullopt for fewer than 3 samples.
std::optional<double> probe_spread_fraction(const std::vector<double>& probe_s);

// Above this spread, the run reports that its probe moved and that its step time should not be trusted.
//
// cpu: 0.10
//     A quiet machine stays below 0.05; a neighbour on the other hyperthread doubles the probe.
//
// cuda: 0.25
//     A GPU at its power cap changes its clock several times a second. On an H200 that moved the probes of runs of 20
//     steps by 0.06 to 0.13 and their steps by 0.03 to 0.10, while the medians of the steps stayed within 0.7 % of
//     their middle. Kernels of another process alternate with the probe and double it.
double most_probe_spread(spec::Device device);

}  // namespace perfbench::harness
