// Operations on rows and elements that are bound by memory: norms, activations, RoPE, embedding, cross-entropy, sums.
// The shapes are those of 1024 tokens of GPT-2 124M; 8192 tokens show the rate of memory rather than of cache.
#include "workloads/micro/operand.h"

namespace perfbench::micro {
namespace {

using engine::DType;
using engine::Shape;

constexpr std::int64_t kModel = 768;
constexpr std::int64_t kHidden = 3072;
constexpr std::int64_t kVocabulary = 50257;

DType dtype_of(const benchmark::State& state) {
  return state.range(1) == 0 ? DType::f32 : DType::bf16;
}

// One iteration makes `passes` passes over `elements` elements of the storage type.
void report_passes(benchmark::State& state, std::int64_t elements, double passes) {
  const auto dtype = dtype_of(state);
  state.SetLabel(std::string(engine::dtype_name(dtype)));
  report_bytes(state, passes * static_cast<double>(elements * size_bytes(dtype)));
}

void norm_forward(benchmark::State& state, spec::NormKind kind) {
  const auto ops = engine::make_cpu_ops();
  const Shape shape{state.range(0), kModel};
  const Operand x(*ops, dtype_of(state), shape), y(*ops, dtype_of(state), shape), weight(*ops, DType::f32, {kModel});
  const Operand statistics(*ops, DType::f32, {kind == spec::NormKind::layernorm ? 2 : 1, state.range(0)});
  for (auto _ : state) {
    ops->norm_forward({.y_NM = y, .statistics = statistics, .x_NM = x, .weight_M = weight, .kind = kind});
  }
  report_passes(state, shape.elements(), 2);
}

void norm_backward(benchmark::State& state, spec::NormKind kind) {
  const auto ops = engine::make_cpu_ops();
  const Shape shape{state.range(0), kModel};
  const Operand x(*ops, dtype_of(state), shape), dy(*ops, dtype_of(state), shape), dx(*ops, dtype_of(state), shape);
  const Operand weight(*ops, DType::f32, {kModel}), dweight(*ops, DType::f32, {kModel});
  const Operand statistics(*ops, DType::f32, {kind == spec::NormKind::layernorm ? 2 : 1, state.range(0)});
  for (auto _ : state) {
    ops->norm_backward({.dx_NM = dx,
                        .dweight_M = dweight,
                        .dy_NM = dy,
                        .x_NM = x,
                        .statistics = statistics,
                        .weight_M = weight,
                        .kind = kind});
  }
  report_passes(state, shape.elements(), 3);
}

void activation_forward(benchmark::State& state, spec::Activation kind) {
  const auto ops = engine::make_cpu_ops();
  const Shape shape{state.range(0), kHidden};
  const auto dtype = dtype_of(state);
  const Operand product(*ops, dtype, shape), gate(*ops, dtype, shape), up(*ops, dtype, shape);
  const bool gated = spec::is_gated(kind);
  for (auto _ : state) {
    ops->activation_forward(
        {.product_NF = product, .gate_NF = gated ? gate.view() : engine::TensorView{}, .up_NF = up, .kind = kind});
  }
  report_passes(state, shape.elements(), gated ? 3 : 2);
}

void activation_backward(benchmark::State& state, spec::Activation kind) {
  const auto ops = engine::make_cpu_ops();
  const Shape shape{state.range(0), kHidden};
  const auto dtype = dtype_of(state);
  const Operand product(*ops, dtype, shape), gate(*ops, dtype, shape), up(*ops, dtype, shape);
  const bool gated = spec::is_gated(kind);
  for (auto _ : state) {
    ops->activation_backward(
        {.gate_NF = gated ? gate.view() : engine::TensorView{}, .up_NF = up, .dproduct_NF = product, .kind = kind});
  }
  report_passes(state, shape.elements(), gated ? 5 : 3);
}

void rope(benchmark::State& state, spec::RopeLayout layout) {
  const auto ops = engine::make_cpu_ops();
  const Shape shape{state.range(0), kModel};
  const Operand x(*ops, dtype_of(state), shape), table(*ops, DType::f32, {1024, 64}, 0.5);
  for (auto _ : state) ops->rope({.x = x, .cos_sin_TD = table, .head_dim = 64, .layout = layout});
  report_passes(state, shape.elements(), 2);
}

void embedding_forward(benchmark::State& state) {
  const auto ops = engine::make_cpu_ops();
  const auto dtype = dtype_of(state);
  const Operand tokens({state.range(0)}, kVocabulary), table(*ops, dtype, {kVocabulary, kModel});
  const Operand x(*ops, dtype, {state.range(0), kModel});
  for (auto _ : state) ops->embedding_forward({.x_NM = x, .tokens_N = tokens, .table_VM = table, .seq_len = 1024});
  report_passes(state, state.range(0) * kModel, 2);
}

void embedding_backward(benchmark::State& state) {
  const auto ops = engine::make_cpu_ops();
  const Operand tokens({state.range(0)}, kVocabulary), dtable(*ops, DType::f32, {kVocabulary, kModel});
  const Operand dx(*ops, dtype_of(state), {state.range(0), kModel});
  for (auto _ : state) ops->embedding_backward({.dtable_VM = dtable, .dx_NM = dx, .tokens_N = tokens, .seq_len = 1024});
  report_passes(state, state.range(0) * kModel, 3);
}

void cross_entropy(benchmark::State& state) {
  const auto ops = engine::make_cpu_ops();
  const Operand logits(*ops, dtype_of(state), {state.range(0), kVocabulary}),
      losses(*ops, DType::f32, {state.range(0)});
  const Operand targets({state.range(0)}, kVocabulary);
  for (auto _ : state) ops->cross_entropy({.losses_N = losses, .logits_NV = logits, .targets_N = targets});
  report_passes(state, state.range(0) * kVocabulary, 2);
}

void add(benchmark::State& state) {
  const auto ops = engine::make_cpu_ops();
  const Shape shape{state.range(0), kModel};
  const Operand a(*ops, dtype_of(state), shape), b(*ops, dtype_of(state), shape);
  for (auto _ : state) ops->add(a, a, b);
  report_passes(state, shape.elements(), 3);
}

void bias_backward(benchmark::State& state) {
  const auto ops = engine::make_cpu_ops();
  const Shape shape{state.range(0), kHidden};
  const Operand dy(*ops, dtype_of(state), shape), dbias(*ops, DType::f32, {kHidden});
  for (auto _ : state) ops->bias_backward(dbias, dy, engine::Write::accumulate);
  report_passes(state, shape.elements(), 1);
}

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgsProduct({{1024, 8192}, {0, 1}})->ArgNames({"tokens", "bf16"})->UseRealTime();
}
void logit_sizes(benchmark::internal::Benchmark* b) {
  b->ArgsProduct({{1024}, {0, 1}})->ArgNames({"tokens", "bf16"})->UseRealTime();
}

BENCHMARK_CAPTURE(norm_forward, rmsnorm, spec::NormKind::rmsnorm)->Apply(sizes);
BENCHMARK_CAPTURE(norm_forward, layernorm, spec::NormKind::layernorm)->Apply(sizes);
BENCHMARK_CAPTURE(norm_backward, rmsnorm, spec::NormKind::rmsnorm)->Apply(sizes);
BENCHMARK_CAPTURE(norm_backward, layernorm, spec::NormKind::layernorm)->Apply(sizes);
BENCHMARK_CAPTURE(activation_forward, gelu_tanh, spec::Activation::gelu_tanh)->Apply(sizes);
BENCHMARK_CAPTURE(activation_forward, gelu, spec::Activation::gelu)->Apply(sizes);
BENCHMARK_CAPTURE(activation_forward, swiglu, spec::Activation::swiglu)->Apply(sizes);
BENCHMARK_CAPTURE(activation_backward, gelu_tanh, spec::Activation::gelu_tanh)->Apply(sizes);
BENCHMARK_CAPTURE(activation_backward, gelu, spec::Activation::gelu)->Apply(sizes);
BENCHMARK_CAPTURE(activation_backward, swiglu, spec::Activation::swiglu)->Apply(sizes);
BENCHMARK_CAPTURE(rope, half, spec::RopeLayout::half)->Apply(sizes);
BENCHMARK_CAPTURE(rope, interleaved, spec::RopeLayout::interleaved)->Apply(sizes);
BENCHMARK(embedding_forward)->Apply(sizes);
BENCHMARK(embedding_backward)->Apply(sizes);
BENCHMARK(cross_entropy)->Apply(logit_sizes);
BENCHMARK(add)->Apply(sizes);
BENCHMARK(bias_backward)->Apply(sizes);

}  // namespace
}  // namespace perfbench::micro
