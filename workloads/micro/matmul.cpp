// Matrix products of a training step at the shapes of GPT-2 124M and of a LLaMA of its size, for every library built
// in, and through the operation itself in both storage types. NT is a forward product (weights are [out, in]), NN the
// gradient of the input, TN the gradient of the weights.
#include "engine/ops/cpu/matmul_provider.h"
#include "workloads/micro/operand.h"

namespace perfbench::micro {
namespace {

using engine::DType;
using engine::Shape;
using engine::Transpose;

struct ProductShape {
  const char* name;
  Transpose transpose_a;
  Transpose transpose_b;
  std::int64_t m, n, k;
};

constexpr auto kNo = Transpose::no;
constexpr auto kYes = Transpose::yes;
constexpr ProductShape kShapes[] = {
    {"gpt2_qkv_NT", kNo, kYes, 1024, 2304, 768},        {"gpt2_out_NT", kNo, kYes, 1024, 768, 768},
    {"gpt2_up_NT", kNo, kYes, 1024, 3072, 768},         {"gpt2_down_NT", kNo, kYes, 1024, 768, 3072},
    {"gpt2_up_dx_NN", kNo, kNo, 1024, 768, 3072},       {"gpt2_up_dw_TN", kYes, kNo, 3072, 768, 1024},
    {"gpt2_logits_NT", kNo, kYes, 1024, 50257, 768},    {"gpt2_logits_dx_NN", kNo, kNo, 1024, 768, 50257},
    {"gpt2_logits_dw_TN", kYes, kNo, 50257, 768, 1024}, {"llama_gate_NT", kNo, kYes, 1024, 2048, 768},
    {"llama_kv_NT", kNo, kYes, 1024, 256, 768},         {"square_256", kNo, kNo, 256, 256, 256},
    {"square_1024", kNo, kNo, 1024, 1024, 1024},        {"square_2048", kNo, kNo, 2048, 2048, 2048},
};

Shape stored(std::int64_t rows, std::int64_t columns, Transpose transpose) {
  return transpose == Transpose::yes ? Shape{columns, rows} : Shape{rows, columns};
}

double flops(const ProductShape& s) {
  return 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
}

void provider_product(benchmark::State& state, const engine::cpu::MatmulProvider& provider, const ProductShape& s) {
  const auto ops = engine::make_cpu_ops();
  const Operand a(*ops, DType::f32, stored(s.m, s.k, s.transpose_a));
  const Operand b(*ops, DType::f32, stored(s.k, s.n, s.transpose_b));
  const Operand c(*ops, DType::f32, Shape{s.m, s.n});
  for (auto _ : state) {
    provider.sgemm({s.transpose_a, s.transpose_b, s.m, s.n, s.k, a.view().as<float>(), a.view().shape[1],
                    b.view().as<float>(), b.view().shape[1], c.view().as<float>(), s.n, engine::Write::overwrite});
  }
  report_flops(state, flops(s));
}

void operation(benchmark::State& state, DType dtype, const ProductShape& s) {
  const auto ops = engine::make_cpu_ops();
  const Operand a(*ops, dtype, stored(s.m, s.k, s.transpose_a));
  const Operand b(*ops, dtype, stored(s.k, s.n, s.transpose_b));
  const Operand c(*ops, dtype, Shape{s.m, s.n});
  for (auto _ : state) {
    ops->matmul({.a = a, .b = b, .c = c, .transpose_a = s.transpose_a, .transpose_b = s.transpose_b});
  }
  report_flops(state, flops(s));
}

const bool kMatmulRegistered = [] {
  for (const auto& shape : kShapes) {
    for (const auto& provider : engine::cpu::matmul_providers()) {
      const auto name = "matmul/" + std::string(shape.name) + "/" + provider.name;
      benchmark::RegisterBenchmark(name.c_str(), provider_product, provider, shape)->UseRealTime();
    }
    const auto name = "matmul/" + std::string(shape.name) + "/bf16";
    benchmark::RegisterBenchmark(name.c_str(), operation, DType::bf16, shape)->UseRealTime();
  }
  return true;
}();

}  // namespace
}  // namespace perfbench::micro
