// Closed forms of what a run keeps.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/spec/parameter_table.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

inline std::int64_t up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Of precision fp8, by the names of parameters: f32 amax, scale and its inverse of inputs, weights and gradients of the
// layers that read one input; with delayed scaling a history of each amax, that of gradients apart. Blocks of the
// arena.
inline std::int64_t fp8_state_bytes(const spec::RunSpec& run,
                                    const std::vector<std::vector<spec::ParameterSpec>>& units) {
  if (run.precision != spec::Precision::fp8) return 0;
  std::int64_t inputs = 0;
  for (const auto& unit : units) {
    for (const auto& parameter : unit) {
      if (parameter.kind == spec::ParameterKind::expert) continue;
      for (const char* name : {".query.weight", ".out.weight", ".up.weight", ".down.weight"}) {
        if (parameter.name.ends_with(name)) ++inputs;
      }
    }
  }
  const auto block = [](std::int64_t floats) { return up(4 * floats, 256); };
  const std::int64_t states = 3 * block(3 * inputs);
  if (run.fp8_scaling == spec::Fp8Scaling::current) return states;
  return states + block(run.fp8_amax_history * 2 * inputs) + block(run.fp8_amax_history * inputs);
}

}  // namespace perfbench::engine
