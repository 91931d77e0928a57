// The inputs of cross-entropy and of the products behind it, compared with these products in f64.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/element_type.h"
#include "engine/train/assembly.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/oracle/operand.h"

namespace perfbench::engine {
namespace {

using oracle::gamma;
using oracle::kUnitBf16;
using oracle::rounded_to;
using oracle::Values;

Values values_of(const RowsView& t) {
  Values out;
  cpu::with_element_type(t.dtype, [&]<class T>() {
    for (std::int64_t r = 0; r < t.shape[0]; ++r) {
      const T* const row = row_of<const T>(t, r);
      for (std::int64_t i = 0; i < t.shape[1]; ++i) out.push_back(static_cast<double>(cpu::to_f32(row[i])));
    }
  });
  return out;
}

// Keeps what the head computes in the first chunk of a step.
class NotingHead : public cpu::CpuOps {
 public:
  struct Noted {
    DType type = DType::f32;
    std::int64_t row_stride = 0;
    Values x, weight, logits;    // [N, M], [V, M], [N, V]
    Values gradient;             // as cross-entropy wrote it
    Values read_by_products[2];  // for weight and input
  };
  explicit NotingHead(Noted& noted) : noted_(noted) {}

 protected:
  void do_matmul(const MatmulArgs& args) override {
    const bool of_head = args.part == FlopPart::unembedding;
    if (of_head && args.transpose_b == Transpose::yes) operands_ = {values_of(args.a), values_of(args.b)};
    const std::size_t which = args.transpose_a == Transpose::yes ? 0 : 1;
    const bool backward = of_head && args.transpose_b == Transpose::no;
    if (backward && noted_.read_by_products[which].empty()) noted_.read_by_products[which] = values_of(args.a);
    CpuOps::do_matmul(args);
  }
  void do_cross_entropy(const CrossEntropyArgs& args) override {
    const bool first = noted_.logits.empty();
    if (first) {
      noted_.type = args.logits_NV.dtype;
      noted_.row_stride = args.logits_NV.stride;
      std::tie(noted_.x, noted_.weight) = operands_;
      noted_.logits = values_of(args.logits_NV);
    }
    CpuOps::do_cross_entropy(args);
    if (first) noted_.gradient = values_of(args.logits_NV);
  }

 private:
  Noted& noted_;
  std::pair<Values, Values> operands_;
};

NotingHead::Noted first_chunk(const spec::RunSpec& run) {
  NotingHead::Noted noted;
  Backend backend;
  backend.device_memory = make_cpu_backing();
  backend.host_memory = make_cpu_backing();
  backend.ops = std::make_unique<NotingHead>(noted);
  backend.collectives = make_single_collectives();
  Assembly assembly(run, std::move(backend), {.data = make_run_data(run)});
  assembly.trainer().step(0);
  return noted;
}

// A product of bf16 operands is exact in f32, so a logit is a sum of M terms: gamma_M of their magnitudes (Higham,
// 3.1); if kept in bf16 it is rounded once more.
TEST(Logits, AreTheSumsOrThoseRoundedToBf16) {
  auto run = llama_tiny();
  run.precision = spec::Precision::bf16;
  run.loss_chunk_tokens = 24;
  const auto m = static_cast<std::size_t>(run.model.d_model);
  for (const auto kept : {spec::LogitsType::compute, spec::LogitsType::fp32}) {
    run.logits = kept;
    const auto noted = first_chunk(run);
    const bool in_f32 = kept == spec::LogitsType::fp32;
    ASSERT_EQ(noted.type, in_f32 ? DType::f32 : DType::bf16);
    const std::size_t v = noted.weight.size() / m;
    ASSERT_EQ(noted.logits.size(), 24 * v);
    // Rows begin at multiples of 16 bytes, also in bf16, whatever the vocabulary: for this one, there is padding
    // between them.
    ASSERT_NE(v % 8, 0U);
    EXPECT_EQ(noted.row_stride % 8, 0);
    EXPECT_LT(noted.row_stride, static_cast<std::int64_t>(v) + 8);
    std::size_t rounded = 0;
    for (std::size_t i = 0; i < noted.logits.size(); ++i) {
      double sum = 0, magnitude = 0;
      for (std::size_t k = 0; k < m; ++k) {
        const double product = noted.x[i / v * m + k] * noted.weight[i % v * m + k];
        sum += product;
        magnitude += std::abs(product);
      }
      const double of_sum = gamma(static_cast<double>(m)) * magnitude;
      EXPECT_NEAR(noted.logits[i], sum, of_sum + (in_f32 ? 0.0 : kUnitBf16 * (std::abs(sum) + of_sum)));
      if (rounded_to(DType::bf16, noted.logits[i]) == noted.logits[i]) ++rounded;
    }
    // One f32 in 65536 is a bf16 by chance.
    if (in_f32) {
      EXPECT_LT(rounded, noted.logits.size() / 100);
    } else {
      EXPECT_EQ(rounded, noted.logits.size());
    }
  }
}

TEST(Logits, InF32HaveAGradientThatIsRoundedForTheProducts) {
  auto run = llama_tiny();
  run.precision = spec::Precision::bf16;
  run.logits = spec::LogitsType::fp32;
  const auto noted = first_chunk(run);
  ASSERT_FALSE(noted.gradient.empty());
  Values want;
  for (const double g : noted.gradient) want.push_back(rounded_to(DType::bf16, g));
  EXPECT_NE(want, noted.gradient);
  EXPECT_EQ(noted.read_by_products[0], want);
  EXPECT_EQ(noted.read_by_products[1], want);
}

}  // namespace
}  // namespace perfbench::engine
