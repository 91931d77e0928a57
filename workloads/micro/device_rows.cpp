// The operations of a GPU between matrix products, one at a time: norms, activations, the loss, casts, rounding to 8
// bits. All are bound by memory, except the square product, which is the card's other ceiling. Shapes are those of 8192
// tokens of a 1B and of a 7B llama. Times are the device's own, measured by events. The rate counts every operand once,
// so the card's copy (`copy`) shows what the others can reach.
#include <benchmark/benchmark.h>

#include <iostream>
#include <vector>

#include "engine/cuda/cuda_device.h"
#include "engine/cuda/cuda_event.h"
#include "engine/cuda/cuda_memory.h"
#include "engine/ops/cuda/cuda_ops.h"

namespace perfbench::micro {
namespace {

using engine::DType;
using engine::Ops;
using engine::RowsView;
using engine::Shape;
using engine::TensorView;

constexpr std::int64_t kTokens = 8192;
constexpr std::int64_t kArenaBytes = std::int64_t{6} << 30;
constexpr std::int64_t kWorkspaceBytes = std::int64_t{256} << 20;
// The number of calls between two events. Each call has its own operands until all operands together exceed any cache.
constexpr int kCalls = 8;
constexpr std::int64_t kFarMoreThanAnyCache = std::int64_t{512} << 20;

// The device, and one arena for a benchmark's operands.
class Gpu {
 public:
  Gpu() : ops_(engine::cuda::make_cuda_ops(device_, {.precision = spec::Precision::fp8})) {
    ops_->use_workspace({memory_->at(0, kWorkspaceBytes), DType::f32, Shape{kWorkspaceBytes / 4}});
  }
  Ops& ops() { return *ops_; }
  cudaStream_t stream() const { return device_.compute(); }
  void forget() { used_ = kWorkspaceBytes; }
  TensorView take(DType dtype, Shape shape) {
    const std::int64_t bytes = (shape.elements() * size_bytes(dtype) + 255) / 256 * 256;
    const TensorView tensor{memory_->at(used_, bytes), dtype, shape};
    used_ += bytes;
    return tensor;
  }
  // Normal deviates, which take more power than zeros.
  TensorView normals(DType dtype, Shape shape) {
    const TensorView out = take(dtype, shape);
    const TensorView drawn =
        dtype == DType::f32 ? out : TensorView{memory_->at(used_, shape.elements() * 4), DType::f32, shape};
    ops_->fill_normal({.out = drawn, .seed = 1, .stream = "micro", .std = 1.0});
    if (dtype != DType::f32) ops_->copy(out, drawn);
    return out;
  }

 private:
  engine::CudaDevice device_{0};
  std::unique_ptr<engine::ArenaBacking> memory_ = engine::make_cuda_backing(device_, kWorkspaceBytes + kArenaBytes);
  std::unique_ptr<Ops> ops_;
  std::int64_t used_ = kWorkspaceBytes;
};

// Never destroyed: the runtime may be gone before static objects are destroyed.
Gpu& gpu() {
  static Gpu& one = *new Gpu;
  return one;
}

// make() returns a call with its own operands, as a function without arguments. `bytes`: what one call reads and
// writes.
template <class Make>
void time_calls(benchmark::State& state, double bytes, Make make) {
  gpu().forget();
  const auto sets = static_cast<int>(std::clamp<double>(kFarMoreThanAnyCache / bytes + 1, 1, kCalls));
  std::vector<decltype(make())> calls;
  for (int i = 0; i < sets; ++i) calls.push_back(make());
  for (const auto& call : calls) call();
  engine::CudaEvent begin(cudaEventDefault);
  engine::CudaEvent end(cudaEventDefault);
  for (auto _ : state) {
    begin.record(gpu().stream());
    for (int i = 0; i < kCalls; ++i) calls[static_cast<std::size_t>(i % sets)]();
    end.record(gpu().stream());
    engine::cuda_check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
    float milliseconds = 0;
    engine::cuda_check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
    state.SetIterationTime(static_cast<double>(milliseconds) * 1e-3 / kCalls);
  }
  state.counters["B/s"] = benchmark::Counter(bytes, benchmark::Counter::kIsIterationInvariantRate);
}

constexpr double kBf16Bytes = 2;

void copy(benchmark::State& state) {
  const Shape shape{kTokens, 8192};
  time_calls(state, 2 * kBf16Bytes * static_cast<double>(shape.elements()), [&] {
    const TensorView in = gpu().normals(DType::bf16, shape), out = gpu().take(DType::bf16, shape);
    return [=] { gpu().ops().copy(out, in); };
  });
}

void cast_weights(benchmark::State& state) {
  const Shape shape{4096, 11008};
  time_calls(state, 6.0 * static_cast<double>(shape.elements()), [&] {
    const TensorView in = gpu().normals(DType::f32, shape), out = gpu().take(DType::bf16, shape);
    return [=] { gpu().ops().copy(out, in); };
  });
}

// With a residual that is added, as between two blocks of a model.
void norm_forward(benchmark::State& state, spec::NormKind kind) {
  const Shape shape{kTokens, state.range(0)};
  time_calls(state, 4 * kBf16Bytes * static_cast<double>(shape.elements()), [&] {
    const TensorView x = gpu().normals(DType::bf16, shape), residual = gpu().normals(DType::bf16, shape);
    const TensorView y = gpu().take(DType::bf16, shape), weight = gpu().normals(DType::f32, {shape[1]});
    const TensorView statistics = gpu().take(DType::f32, {kind == spec::NormKind::layernorm ? 2 : 1, kTokens});
    return [=] {
      gpu().ops().norm_forward(
          {.y_NM = y, .statistics = statistics, .x_NM = x, .weight_M = weight, .residual_NM = residual, .kind = kind});
    };
  });
}

// dx is added to the residual's gradient.
void norm_backward(benchmark::State& state, spec::NormKind kind) {
  const Shape shape{kTokens, state.range(0)};
  time_calls(state, 4 * kBf16Bytes * static_cast<double>(shape.elements()), [&] {
    const TensorView x = gpu().normals(DType::bf16, shape), dy = gpu().normals(DType::bf16, shape);
    const TensorView dx = gpu().normals(DType::bf16, shape), weight = gpu().normals(DType::f32, {shape[1]});
    const TensorView dweight = gpu().normals(DType::f32, {shape[1]});
    const TensorView statistics = gpu().take(DType::f32, {kind == spec::NormKind::layernorm ? 2 : 1, kTokens});
    gpu().ops().norm_forward({.y_NM = dx, .statistics = statistics, .x_NM = x, .weight_M = weight, .kind = kind});
    return [=] {
      gpu().ops().norm_backward({.dx_NM = dx,
                                 .dweight_M = dweight,
                                 .dy_NM = dy,
                                 .x_NM = x,
                                 .statistics = statistics,
                                 .weight_M = weight,
                                 .kind = kind,
                                 .write_dx = engine::Write::accumulate});
    };
  });
}

// Gate and up as the halves of one product's rows.
void activation_forward(benchmark::State& state) {
  const Shape shape{kTokens, state.range(0)};
  time_calls(state, 3 * kBf16Bytes * static_cast<double>(shape.elements()), [&] {
    const RowsView both = gpu().normals(DType::bf16, {kTokens, 2 * shape[1]});
    const TensorView product = gpu().take(DType::bf16, shape);
    const RowsView gate = both.columns(0, shape[1]), up = both.columns(shape[1], shape[1]);
    return [=] { gpu().ops().activation_forward({.product_NF = product, .gate_NF = gate, .up_NF = up}); };
  });
}

void activation_backward(benchmark::State& state) {
  const Shape shape{kTokens, state.range(0)};
  time_calls(state, 5 * kBf16Bytes * static_cast<double>(shape.elements()), [&] {
    const RowsView both = gpu().normals(DType::bf16, {kTokens, 2 * shape[1]});
    const TensorView dproduct = gpu().normals(DType::bf16, shape);
    const RowsView gate = both.columns(0, shape[1]), up = both.columns(shape[1], shape[1]);
    return [=] { gpu().ops().activation_backward({.gate_NF = gate, .up_NF = up, .dproduct_NF = dproduct}); };
  });
}

void cross_entropy(benchmark::State& state) {
  const Shape shape{state.range(0), state.range(1)};
  time_calls(state, 2 * kBf16Bytes * static_cast<double>(shape.elements()), [&] {
    const TensorView logits = gpu().normals(DType::bf16, shape);
    const TensorView losses = gpu().take(DType::f32, {shape[0]}), targets = gpu().take(DType::i32, {shape[0]});
    gpu().ops().fill({targets.data, DType::f32, targets.shape}, 0.0);  // token 0, whose bits are those of 0.0
    return [=] { gpu().ops().cross_entropy({.losses_N = losses, .logits_NV = logits, .targets_N = targets}); };
  });
}

void quantize(benchmark::State& state, spec::Fp8Scaling scaling) {
  const Shape shape{kTokens, state.range(0)};
  time_calls(state, 3.0 * static_cast<double>(shape.elements()), [&] {
    const TensorView in = gpu().normals(DType::bf16, shape), out = gpu().take(DType::e4m3, shape);
    const engine::QuantizationState scales{gpu().take(DType::f32, {1}), gpu().normals(DType::f32, {1}),
                                           gpu().take(DType::f32, {1})};
    gpu().ops().fill(scales.amax, 0.0);
    return [=] {
      const engine::QuantizeArgs::Rounded tensor{out, in};
      gpu().ops().quantize({.tensors = {&tensor, 1}, .state = scales, .scaling = scaling});
    };
  });
}

// A product of 8-bit operands neither of which runs along k, as for the weights' gradient: both are transposed. range:
// tokens, rows and columns of the weight.
void fp8_weight_gradient(benchmark::State& state, engine::Transpose transpose) {
  const std::int64_t out_width = state.range(0);
  const std::int64_t in_width = state.range(1);
  const double flops = 2.0 * kTokens * static_cast<double>(out_width * in_width);
  time_calls(state, static_cast<double>(kTokens * (out_width + in_width)), [&] {
    const bool along = transpose == engine::Transpose::no;
    const TensorView a = gpu().take(DType::e5m2, along ? Shape{out_width, kTokens} : Shape{kTokens, out_width});
    const TensorView b = gpu().take(DType::e4m3, along ? Shape{in_width, kTokens} : Shape{kTokens, in_width});
    const engine::QuantizationState scales{gpu().take(DType::f32, {1}), gpu().normals(DType::f32, {1}),
                                           gpu().take(DType::f32, {1})};
    gpu().ops().fill(scales.amax, 0.0);
    for (const TensorView& codes : {a, b}) {
      const TensorView in = gpu().normals(DType::bf16, codes.shape);
      const engine::QuantizeArgs::Rounded tensor{codes, in};
      gpu().ops().quantize({.tensors = {&tensor, 1}, .state = scales, .scaling = spec::Fp8Scaling::current});
    }
    const TensorView c = gpu().take(DType::f32, {out_width, in_width});
    return [=] {
      gpu().ops().matmul({.a = a,
                          .b = b,
                          .c = c,
                          .transpose_a = transpose,
                          .transpose_b = along ? engine::Transpose::yes : engine::Transpose::no,
                          .inverse_scale_a = scales.inverse_scale,
                          .inverse_scale_b = scales.inverse_scale});
    };
  });
  state.counters["FLOP/s"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

// The card's ceiling for products in bf16: square, with random operands, because zeros would take less power.
void bf16_product(benchmark::State& state) {
  const Shape shape{state.range(0), state.range(0)};
  const auto elements = static_cast<double>(shape.elements());
  time_calls(state, 3 * kBf16Bytes * elements, [&] {
    const TensorView a = gpu().normals(DType::bf16, shape), b = gpu().normals(DType::bf16, shape);
    const TensorView c = gpu().take(DType::bf16, shape);
    return [=] { gpu().ops().matmul({.a = a, .b = b, .c = c, .transpose_b = engine::Transpose::yes}); };
  });
  state.counters["FLOP/s"] = benchmark::Counter(2 * elements * static_cast<double>(state.range(0)),
                                                benchmark::Counter::kIsIterationInvariantRate);
}

void rope(benchmark::State& state) {
  const Shape shape{kTokens, state.range(0)};
  time_calls(state, 2 * kBf16Bytes * static_cast<double>(shape.elements()), [&] {
    const TensorView x = gpu().normals(DType::bf16, shape), table = gpu().normals(DType::f32, {2048, 128});
    return [=] { gpu().ops().rope({.x = x, .cos_sin_TD = table, .head_dim = 128}); };
  });
}

void models(benchmark::internal::Benchmark* b) {
  b->Arg(2048)->Arg(4096)->Arg(8192)->ArgName("d_model")->UseManualTime()->Iterations(10);
}
void hidden(benchmark::internal::Benchmark* b) {
  b->Arg(8192)->Arg(11008)->ArgName("d_ff")->UseManualTime()->Iterations(10);
}
void logits(benchmark::internal::Benchmark* b) {
  b->Args({4096, 128256})->Args({4096, 32000})->ArgNames({"tokens", "vocabulary"})->UseManualTime()->Iterations(10);
}
void weights(benchmark::internal::Benchmark* b) {
  b->Args({4096, 4096})->Args({11008, 4096})->ArgNames({"out", "in"})->UseManualTime()->Iterations(10);
}

BENCHMARK(copy)->UseManualTime()->Iterations(10);
BENCHMARK(bf16_product)->Arg(8192)->ArgName("n")->UseManualTime()->Iterations(10);
BENCHMARK(cast_weights)->UseManualTime()->Iterations(10);
BENCHMARK_CAPTURE(norm_forward, rmsnorm, spec::NormKind::rmsnorm)->Apply(models);
BENCHMARK_CAPTURE(norm_forward, layernorm, spec::NormKind::layernorm)->Apply(models);
BENCHMARK_CAPTURE(norm_backward, rmsnorm, spec::NormKind::rmsnorm)->Apply(models);
BENCHMARK_CAPTURE(norm_backward, layernorm, spec::NormKind::layernorm)->Apply(models);
BENCHMARK(activation_forward)->Apply(hidden);
BENCHMARK(activation_backward)->Apply(hidden);
BENCHMARK(cross_entropy)->Apply(logits);
BENCHMARK_CAPTURE(quantize, delayed, spec::Fp8Scaling::delayed)->Apply(hidden);
BENCHMARK_CAPTURE(quantize, current, spec::Fp8Scaling::current)->Apply(hidden);
BENCHMARK_CAPTURE(fp8_weight_gradient, across_k, engine::Transpose::yes)->Apply(weights);
BENCHMARK_CAPTURE(fp8_weight_gradient, along_k, engine::Transpose::no)->Apply(weights);
BENCHMARK(rope)->Apply(models);

}  // namespace
}  // namespace perfbench::micro

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 3;
  const auto devices = perfbench::engine::find_cuda_devices();
  if (devices.count == 0) {
    std::cout << "skipped: no CUDA device (" << devices.reason << ")\n";
    return 0;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
