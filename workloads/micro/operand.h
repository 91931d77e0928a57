// Operands of microbenchmarks, and the counters that all of them report.
#pragma once

#include <benchmark/benchmark.h>

#include <string>

#include "engine/core/tensor.h"
#include "engine/ops/ops.h"

namespace perfbench::micro {

// A tensor with its own memory, filled with normal deviates (f32, bf16) or with a fixed walk through [0, below) (i32).
class Operand {
 public:
  Operand(engine::Ops& ops, engine::DType dtype, engine::Shape shape, double std = 1.0)
      : tensor_(memory(), {"operand", engine::MemoryScope::activations, dtype, shape}) {
    if (dtype == engine::DType::f32) {
      ops.fill_normal({.out = tensor_, .seed = 1, .stream = "micro", .std = std});
    } else {
      ops.fill(tensor_, std);
    }
  }
  Operand(engine::Shape shape, std::int32_t below)
      : tensor_(memory(), {"ids", engine::MemoryScope::activations, engine::DType::i32, shape}) {
    auto* const ids = tensor_.view().as<std::int32_t>();
    constexpr std::int64_t kStride = 7919;  // a prime, so that neighbours are far apart
    for (std::int64_t i = 0; i < shape.elements(); ++i) ids[i] = static_cast<std::int32_t>(i * kStride % below);
  }

  operator engine::TensorView() const { return tensor_.view(); }
  const engine::TensorView& view() const { return tensor_.view(); }

 private:
  static engine::Memory& memory() {
    static engine::Memory all(engine::make_cpu_backing(), engine::make_cpu_backing(), {});
    return all;
  }
  engine::Tensor tensor_;
};

// The work of one iteration, shown as a rate.
inline void report_flops(benchmark::State& state, double flops) {
  state.counters["FLOP/s"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}
// Bytes that must cross the memory bus if nothing stays in cache.
inline void report_bytes(benchmark::State& state, double bytes) {
  state.counters["B/s"] = benchmark::Counter(bytes, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace perfbench::micro
