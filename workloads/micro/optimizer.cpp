// Operations that touch every parameter once in a step or in a run: AdamW, the gradient norm, the cast to bf16, initial
// weights.
#include <array>

#include "workloads/micro/operand.h"

namespace perfbench::micro {
namespace {

using engine::DType;
using engine::Shape;

constexpr std::int64_t kParameters = std::int64_t{32} << 20;  // far larger than any cache

void adamw(benchmark::State& state) {
  const auto ops = engine::make_cpu_ops();
  const Shape shape{kParameters};
  const Operand weight(*ops, DType::f32, shape), gradient(*ops, DType::f32, shape), first(*ops, DType::f32, shape);
  const Operand second(*ops, DType::f32, shape);
  ops->fill(second, 1.0);
  const Operand factors(*ops, DType::f64, {engine::kAdamwFactors});
  constexpr std::array<double, engine::kAdamwFactors> kFactors{1e-4, 0.1, 0.05, 1.0};  // those of a first step
  ops->upload(factors, kFactors.data());
  const engine::AdamwTensor tensor{
      .weight = weight, .gradient = gradient, .first_moment = first, .second_moment = second, .weight_decay = 0.1};
  for (auto _ : state) {
    ops->adamw({.tensors = {&tensor, 1}, .factors = factors});
  }
  // Four arrays are read and three are written.
  report_bytes(state, 28.0 * kParameters);
}

void sum_of_squares(benchmark::State& state) {
  const auto ops = engine::make_cpu_ops();
  const Operand x(*ops, DType::f32, {kParameters}), out(*ops, DType::f64, {1});
  const engine::TensorView tensor = x;
  for (auto _ : state) ops->sum_of_squares(out, {&tensor, 1}, engine::Write::overwrite);
  report_bytes(state, 4.0 * kParameters);
}

void cast_to_bf16(benchmark::State& state) {
  const auto ops = engine::make_cpu_ops();
  const Operand x(*ops, DType::f32, {kParameters}), out(*ops, DType::bf16, {kParameters});
  for (auto _ : state) ops->copy(out, x);
  report_bytes(state, 6.0 * kParameters);
}

void copy(benchmark::State& state) {
  const auto ops = engine::make_cpu_ops();
  const Operand x(*ops, DType::f32, {kParameters}), out(*ops, DType::f32, {kParameters});
  for (auto _ : state) ops->copy(out, x);
  report_bytes(state, 8.0 * kParameters);
}

void fill_normal(benchmark::State& state) {
  const auto ops = engine::make_cpu_ops();
  const Operand x(*ops, DType::f32, {kParameters});
  for (auto _ : state) ops->fill_normal({.out = x, .seed = 1, .stream = "w", .std = 0.02});
  state.counters["normals/s"] =
      benchmark::Counter(static_cast<double>(kParameters), benchmark::Counter::kIsIterationInvariantRate);
}

BENCHMARK(adamw)->UseRealTime();
BENCHMARK(sum_of_squares)->UseRealTime();
BENCHMARK(cast_to_bf16)->UseRealTime();
BENCHMARK(copy)->UseRealTime();
BENCHMARK(fill_normal)->UseRealTime();

}  // namespace
}  // namespace perfbench::micro
