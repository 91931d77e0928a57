// Attention by a library, part by part. A stand-in for the library computes on the host, from the dimensions, strides
// and addresses that it gets.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <optional>

#include "engine/core/error.h"
#include "engine/ops/workspace.h"
#include "tests/engine/cuda_attention.h"
#include "tests/engine/oracle/expect_within.h"
#include "tests/engine/oracle/products.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine::cuda {
namespace {

using oracle::rounded_to;
using oracle::Values;
using spec::AttentionKind;
using testing::HasSubstr;

// An operand of one part, as the library sees it.
class Heads {
 public:
  Heads(void* data, DType dtype, const HeadTensor& layout) : data_(data), dtype_(dtype), layout_(layout) {}

  double get(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t d) const {
    const std::int64_t i = element(b, h, t, d);
    if (dtype_ == DType::f32) return static_cast<double>(static_cast<const float*>(data_)[i]);
    const auto high = static_cast<std::uint32_t>(static_cast<const std::uint16_t*>(data_)[i]) << 16;
    return static_cast<double>(std::bit_cast<float>(high));
  }
  void set(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t d, double value) const {
    const std::int64_t i = element(b, h, t, d);
    const auto rounded = static_cast<float>(rounded_to(dtype_, value));
    if (dtype_ == DType::f32) {
      static_cast<float*>(data_)[i] = rounded;
    } else {
      static_cast<std::uint16_t*>(data_)[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) >> 16);
    }
  }

 private:
  std::int64_t element(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t d) const {
    const auto& s = layout_.strides;
    return b * s[0] + h * s[1] + t * s[2] + d * s[3];
  }

  void* data_;
  DType dtype_;
  HeadTensor layout_;
};

// The calls of the library.
struct Notes {
  struct Call {
    Direction direction = Direction::forward;
    AttentionLayout layout;
  };
  std::vector<std::int64_t> scratch_bytes;
  std::vector<Call> calls;
  std::optional<std::int64_t> refused_batch;  // problems with this many sequences are refused
  bool computes = true;
};

class HostAttention final : public AttentionProvider {
 public:
  HostAttention(const CudaDevice& device, Notes& notes) : device_(device), notes_(notes) {}

  Refusal prepare(Direction, const AttentionLayout& layout, std::int64_t scratch_bytes) override {
    notes_.scratch_bytes.push_back(scratch_bytes);
    if (layout.dims.batch == notes_.refused_batch) return "the host is tired";
    return std::nullopt;
  }

  void compute(Direction direction, const AttentionLayout& layout, const AttentionAddresses& at,
               void* scratch) override {
    notes_.calls.push_back({direction, layout});
    std::memset(scratch, 0x7f, 64);  // no part may rely on what another left there
    if (!notes_.computes) return;
    device_.synchronize();
    const AttentionDims& d = layout.dims;
    for (std::int64_t b = 0; b < d.batch; ++b) {
      for (std::int64_t h = 0; h < d.n_heads; ++h) {
        if (direction == Direction::forward) forward(layout, at, b, h);
      }
      for (std::int64_t h = 0; h < d.n_kv_heads; ++h) {
        if (direction == Direction::backward) backward(layout, at, b, h);
      }
    }
  }

 private:
  static Heads queries(void* data, const AttentionLayout& layout, std::int64_t stride) {
    return {data, DType::bf16, queries_of(layout, stride)};
  }
  static Heads keys(void* data, const AttentionLayout& layout, std::int64_t stride) {
    return {data, DType::bf16, keys_of(layout, stride)};
  }
  static Heads rows(void* data, const AttentionLayout& layout) { return {data, DType::f32, statistics_of(layout)}; }

  static double score(const AttentionDims& d, const Heads& query, const Heads& key, std::int64_t b, std::int64_t h,
                      std::int64_t i, std::int64_t j) {
    double sum = 0;
    for (std::int64_t e = 0; e < d.head_dim; ++e) {
      sum += query.get(b, h, i, e) * key.get(b, h / (d.n_heads / d.n_kv_heads), j, e);
    }
    return sum * static_cast<double>(d.score_factor);
  }

  static void forward(const AttentionLayout& layout, const AttentionAddresses& at, std::int64_t b, std::int64_t h) {
    const AttentionDims& d = layout.dims;
    const Heads query = queries(at.query, layout, layout.strides.query), key = keys(at.key, layout, layout.strides.key),
                value = keys(at.value, layout, layout.strides.value);
    for (std::int64_t i = 0; i < d.seq_len; ++i) {
      double sum = 0;
      Values context(static_cast<std::size_t>(d.head_dim));
      for (std::int64_t j = 0; j <= i; ++j) {
        const double weight = std::exp(score(d, query, key, b, h, i, j));
        sum += weight;
        for (std::size_t e = 0; e < context.size(); ++e) {
          context[e] += weight * value.get(b, h / (d.n_heads / d.n_kv_heads), j, static_cast<std::int64_t>(e));
        }
      }
      rows(at.logsumexp, layout).set(b, h, i, 0, std::log(sum));
      for (std::size_t e = 0; e < context.size(); ++e) {
        queries(at.context, layout, layout.strides.context)
            .set(b, h, i, static_cast<std::int64_t>(e), context[e] / sum);
      }
    }
  }

  // For a key/value head and its query heads.
  static void backward(const AttentionLayout& layout, const AttentionAddresses& at, std::int64_t b, std::int64_t kv) {
    const AttentionDims& d = layout.dims;
    const Heads query = queries(at.query, layout, layout.strides.query), key = keys(at.key, layout, layout.strides.key),
                value = keys(at.value, layout, layout.strides.value);
    const Heads context = queries(at.context, layout, layout.strides.context),
                dcontext = queries(at.dcontext, layout, layout.strides.context);
    const std::int64_t group = d.n_heads / d.n_kv_heads;
    const double scale = static_cast<double>(d.score_factor);
    Values dkey(static_cast<std::size_t>(d.seq_len * d.head_dim)), dvalue(dkey.size());
    for (std::int64_t h = kv * group; h < (kv + 1) * group; ++h) {
      for (std::int64_t i = 0; i < d.seq_len; ++i) {
        double delta = 0;
        for (std::int64_t e = 0; e < d.head_dim; ++e) delta += dcontext.get(b, h, i, e) * context.get(b, h, i, e);
        const double logsumexp = rows(at.logsumexp, layout).get(b, h, i, 0);
        Values dquery(static_cast<std::size_t>(d.head_dim));
        for (std::int64_t j = 0; j <= i; ++j) {
          const double weight = std::exp(score(d, query, key, b, h, i, j) - logsumexp);
          double dweight = 0;
          for (std::int64_t e = 0; e < d.head_dim; ++e) dweight += dcontext.get(b, h, i, e) * value.get(b, kv, j, e);
          const double dscore = weight * (dweight - delta) * scale;
          for (std::int64_t e = 0; e < d.head_dim; ++e) {
            dquery[static_cast<std::size_t>(e)] += dscore * key.get(b, kv, j, e);
            dkey[static_cast<std::size_t>(j * d.head_dim + e)] += dscore * query.get(b, h, i, e);
            dvalue[static_cast<std::size_t>(j * d.head_dim + e)] += weight * dcontext.get(b, h, i, e);
          }
        }
        for (std::int64_t e = 0; e < d.head_dim; ++e) {
          queries(at.dquery, layout, layout.strides.dquery).set(b, h, i, e, dquery[static_cast<std::size_t>(e)]);
        }
      }
    }
    for (std::int64_t j = 0; j < d.seq_len; ++j) {
      for (std::int64_t e = 0; e < d.head_dim; ++e) {
        keys(at.dkey, layout, layout.strides.dkey).set(b, kv, j, e, dkey[static_cast<std::size_t>(j * d.head_dim + e)]);
        keys(at.dvalue, layout, layout.strides.dvalue)
            .set(b, kv, j, e, dvalue[static_cast<std::size_t>(j * d.head_dim + e)]);
      }
    }
  }

  const CudaDevice& device_;
  Notes& notes_;
};

class AttentionInParts : public CudaAttention {
 protected:
  void SetUp() override {
    CudaAttention::SetUp();
    if (!IsSkipped()) make_workspace(std::int64_t{128} << 20);
  }
  std::unique_ptr<CudaOps> make_host_ops(AttentionChoice choice = AttentionChoice::cudnn) {
    return make_ops(CudaOpsOptions{
        .precision = spec::Precision::bf16,
        .attention = choice,
        .attention_provider = [this](const CudaDevice& device,
                                     Summation) { return std::make_unique<HostAttention>(device, notes_); },
        .attention_parts = limits_});
  }
  std::vector<std::int64_t> batches() const {
    std::vector<std::int64_t> out;
    for (const auto& call : notes_.calls) out.push_back(call.layout.dims.batch);
    return out;
  }

  AttentionPartLimits limits_{.rows = 512};  // small, so that small problems are divided
  Notes notes_;
};

// Grouped heads, with an odd rest: sequences in parts of 8 and 3, or heads of each of two sequences in parts of 8
// key/value heads and 3.
const AttentionDims kManySequences{.batch = 11, .seq_len = 16, .n_heads = 4, .n_kv_heads = 2, .head_dim = 8};
const AttentionDims kManyHeads{
    .batch = 2, .seq_len = 16, .n_heads = 44, .n_kv_heads = 11, .head_dim = 8, .score_factor = 1.0F};

TEST_F(AttentionInParts, EqualsTheOracle) {
  for (const auto& dims : {kManySequences, kManyHeads}) {
    const AttentionProblem p(DType::bf16, dims);
    const auto ops = make_host_ops();
    ops->attention_forward(p.forward(AttentionKind::flash));
    ops->attention_backward(p.backward(AttentionKind::flash));
    const Values q = p.query.values(), k = p.key.values(), v = p.value.values();
    const auto forward = oracle::attention_forward(q, k, v, dims);
    const auto gradient = oracle::attention_backward(p.dcontext.values(), q, k, v, dims);
    // logsumexp is f32; the context from which delta is computed was rounded once, to bf16.
    const auto by_magnitude = [](const Values& magnitude) {
      return [&magnitude](std::size_t i) { return (oracle::kUnitBf16 + 16 * oracle::kUnitF32) * magnitude[i]; };
    };
    oracle::expect_within(
        p.logsumexp, forward.logsumexp, [](std::size_t) { return 0x1p-40; }, "logsumexp");
    oracle::expect_within(
        p.context, forward.context, [](std::size_t) { return 0x1p-40; }, "context");
    oracle::expect_within(p.dquery, gradient.dquery.value, by_magnitude(gradient.dquery.magnitude), "dquery");
    oracle::expect_within(p.dkey, gradient.dkey.value, by_magnitude(gradient.dkey.magnitude), "dkey");
    oracle::expect_within(p.dvalue, gradient.dvalue.value, by_magnitude(gradient.dvalue.magnitude), "dvalue");
  }
}

TEST_F(AttentionInParts, HasTheBitsOfAllAtOnce) {
  for (const auto& dims : {kManySequences, kManyHeads}) {
    const AttentionProblem parts(DType::bf16, dims), whole(DType::bf16, dims);
    const auto ops = make_host_ops();
    ops->attention_forward(parts.forward(AttentionKind::flash));
    ops->attention_backward(parts.backward(AttentionKind::flash));
    const AttentionPart all{0, dims.batch, 0, dims.n_kv_heads};
    HostAttention library(*device_, notes_);
    char scratch[64];
    const auto forward = whole.forward(AttentionKind::flash);
    const auto backward = whole.backward(AttentionKind::flash);
    library.compute(Direction::forward, layout_of(forward, all), addresses_of(forward, all), scratch);
    library.compute(Direction::backward, layout_of(backward, all), addresses_of(backward, all), scratch);
    EXPECT_EQ(parts.dquery.bytes(), whole.dquery.bytes());
    EXPECT_EQ(parts.dkey.bytes(), whole.dkey.bytes());
    EXPECT_EQ(parts.dvalue.bytes(), whole.dvalue.bytes());
  }
}

TEST_F(AttentionInParts, GoesForwardAtOnceAndBackwardInParts) {
  notes_.computes = false;
  const AttentionProblem p(DType::bf16, kManySequences);
  const auto ops = make_host_ops();
  ops->attention_forward(p.forward(AttentionKind::flash));
  EXPECT_THAT(batches(), testing::ElementsAre(11));
  notes_.calls.clear();
  ops->attention_backward(p.backward(AttentionKind::flash));
  EXPECT_THAT(batches(), testing::ElementsAre(8, 3));
  EXPECT_EQ(notes_.calls[0].direction, Direction::backward);
}

// The workspace in the dry walk (workspace::bytes) is exactly what a part requests.
TEST_F(AttentionInParts, TakesTheWorkspaceThatIsPlanned) {
  notes_.computes = false;
  limits_ = {};  // the planned limits
  AttentionDims dims{.batch = 1, .seq_len = 128, .n_heads = 4, .n_kv_heads = 2, .head_dim = 8};
  dims.batch += limits_.rows / (dims.seq_len * dims.n_heads);  // one part, and one more sequence
  const AttentionProblem p(DType::bf16, dims);
  spec::RunSpec run;
  run.device = spec::Device::cuda;
  run.precision = spec::Precision::bf16;
  run.model.d_model = 32;
  run.model.n_heads = dims.n_heads;
  run.model.n_kv_heads = dims.n_kv_heads;
  run.model.head_dim = dims.head_dim;
  run.seq_len = dims.seq_len;
  run.global_batch = dims.batch;
  const std::int64_t planned = workspace::bytes(run);
  const auto ops = make_host_ops();
  ops->use_workspace(workspace().slice(0, Shape{planned / 4}));
  ops->attention_forward(p.forward(AttentionKind::flash));
  notes_.scratch_bytes.clear();
  ops->attention_backward(p.backward(AttentionKind::flash));
  EXPECT_THAT(notes_.scratch_bytes, testing::ElementsAre(planned, planned)) << "the first part, and the last";
  ops->use_workspace(workspace().slice(0, Shape{planned / 4 - 1}));
  EXPECT_THROW(ops->attention_backward(p.backward(AttentionKind::flash)), LogicFault);
}

TEST_F(AttentionInParts, DoesNotUseTheLibraryUnlessItAcceptsTheLastPartToo) {
  const AttentionDims two_parts{.batch = 17, .seq_len = 4, .n_heads = 8, .n_kv_heads = 8, .head_dim = 8};
  const AttentionProblem p(DType::bf16, two_parts);
  notes_.refused_batch = 1;
  const auto ops = make_host_ops();
  try {
    ops->attention_backward(p.backward(AttentionKind::flash));
    ADD_FAILURE() << "was computed";
  } catch (const EngineError& error) {
    EXPECT_EQ(error.exit(), EngineExit::infeasible);
    EXPECT_THAT(error.what(), HasSubstr("the host is tired"));
  }
  EXPECT_TRUE(notes_.calls.empty());
}

std::string told(const Ops& ops) {
  std::string out;
  for (const auto& kernel : ops.attention_kernels()) {
    out += std::string(spec::enum_name(kernel.direction)) + " " + std::string(spec::enum_name(kernel.computed_by)) +
           (kernel.reason.empty() ? "" : " (" + kernel.reason + ")") + "; ";
  }
  return out;
}

TEST_F(AttentionInParts, ReportsTheKernelOfEachDirectionAndWhyNotTheLibrary) {
  const AttentionDims dims{.batch = 1, .seq_len = 8, .n_heads = 1, .n_kv_heads = 1, .head_dim = 8};
  const AttentionProblem p(DType::bf16, dims);
  const auto ops = make_host_ops(AttentionChoice::automatic);
  EXPECT_EQ(told(*ops), "");
  ops->attention_forward(p.forward(AttentionKind::dot_product));
  EXPECT_EQ(told(*ops), "") << "there is no choice";
  ops->attention_forward(p.forward(AttentionKind::flash));
  EXPECT_EQ(told(*ops), "forward cudnn; ");
  notes_.refused_batch = 1;
  ops->attention_backward(p.backward(AttentionKind::flash));
  EXPECT_EQ(told(*ops), "forward cudnn; backward own (the host is tired); ");
  notes_.refused_batch.reset();
  ops->attention_backward(p.backward(AttentionKind::flash));
  EXPECT_EQ(told(*ops), "forward cudnn; backward own (the host is tired); ") << "not all of it was the library's";
  const auto own = make_ops(AttentionChoice::own);
  own->attention_forward(p.forward(AttentionKind::flash));
  EXPECT_EQ(told(*own), "forward own (our own kernels were requested); ");
  wait();
}

TEST_F(AttentionInParts, DoesNotUseTheLibraryWithABias) {
  const AttentionProblem p(DType::bf16, {.batch = 1, .seq_len = 8, .n_heads = 1, .n_kv_heads = 1, .head_dim = 8},
                           ScoreBias::by_distance);
  const auto ops = make_host_ops(AttentionChoice::automatic);
  ops->attention_forward(p.forward(AttentionKind::flash));
  ops->attention_backward(p.backward(AttentionKind::flash));
  EXPECT_TRUE(notes_.scratch_bytes.empty());
  EXPECT_EQ(told(*ops),
            "forward own (the plan for cuDNN has no bias by distance); "
            "backward own (the plan for cuDNN has no bias by distance); ");
  EXPECT_THROW(make_host_ops()->attention_forward(p.forward(AttentionKind::flash)), EngineError);
  wait();
}

TEST_F(AttentionInParts, DoesNotUseTheLibraryWithoutBf16OrWithoutParts) {
  const AttentionDims dims{.batch = 1, .seq_len = 8, .n_heads = 1, .n_kv_heads = 1, .head_dim = 8};
  const AttentionProblem f32(DType::f32, dims);
  const auto ops = make_host_ops(AttentionChoice::automatic);
  ops->attention_forward(f32.forward(AttentionKind::flash));
  ops->attention_backward(f32.backward(AttentionKind::flash));
  EXPECT_TRUE(notes_.scratch_bytes.empty());
  EXPECT_THAT(told(*ops), HasSubstr("backward own (cuDNN computes attention only in bf16)"));
  // 518 rows in sequences of seven: parts would begin at unaligned addresses.
  const AttentionProblem odd(DType::bf16, {.batch = 74, .seq_len = 7, .n_heads = 1, .n_kv_heads = 1, .head_dim = 8});
  EXPECT_THROW(make_host_ops()->attention_backward(odd.backward(AttentionKind::flash)), EngineError);
  EXPECT_TRUE(notes_.scratch_bytes.empty());
  wait();
}

}  // namespace
}  // namespace perfbench::engine::cuda
