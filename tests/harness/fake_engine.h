// The behaviour of the fake engine. The seed of the run selects it, so that a matrix can contain cells that behave well
// and cells that do not; PERFBENCH_FAKE_BEHAVIOUR of the environment takes precedence. PERFBENCH_FAKE_SPEED, _SIZE and
// _LOSS are factors for the times, the peak memory and the loss. PERFBENCH_FAKE_NEEDS_BYTES is the memory that it
// plans. PERFBENCH_FAKE_WITHOUT_TURNS makes it act like an earlier revision. PERFBENCH_FAKE_STEP_MS is the real
// duration of a step. PERFBENCH_FAKE_SPINS gives it a thread that never rests.
#pragma once

#include <cstdint>

namespace perfbench::fake {

// The last rank misbehaves, after its first step.
enum class FakeBehaviour : std::int64_t {
  ok = 1,
  segfault = 2,
  killed = 3,  // by signal 9, as the kernel does when memory runs out
  hang = 4,
  hang_deaf = 5,  // and ignores SIGTERM
  out_of_memory = 6,
  infeasible = 7,
  failed = 8,
  no_result = 9,         // exit code 0, no result.json
  partial_records = 10,  // one step too few, status ok
  grow = 11,             // allocates memory without end
  diverge = 12,          // on every rank: the loss is infinite at step 1 and NaN after it, as is the gradient norm
  large_gradient = 13,   // on every rank: the gradient norm is infinite at step 1, and every loss finite
  first_ok = 100,        // this one and all above it behave well
};

}  // namespace perfbench::fake
