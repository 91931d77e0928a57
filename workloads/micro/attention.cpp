// Both attentions, forward and backward, at 12 heads of 64 (GPT-2 124M) and at 4 key/value heads for 12 (grouped).
// FLOPs follow the definitions: half the square of the scores, and no recomputation by flash.
#include "workloads/micro/operand.h"

namespace perfbench::micro {
namespace {

using engine::AttentionDims;
using engine::Direction;
using engine::DType;
using engine::Shape;
using spec::AttentionKind;

struct AttentionCase {
  AttentionKind kind;
  Direction direction;
  DType dtype;
  AttentionDims dims;
};

struct Buffers {
  Buffers(engine::Ops& ops, const AttentionCase& c)
      : q(ops, c.dtype, rows(c.dims, c.dims.n_heads)),
        k(ops, c.dtype, rows(c.dims, c.dims.n_kv_heads)),
        v(ops, c.dtype, rows(c.dims, c.dims.n_kv_heads)),
        context(ops, c.dtype, rows(c.dims, c.dims.n_heads)),
        logsumexp(ops, DType::f32, Shape{c.dims.batch, c.dims.n_heads, c.dims.seq_len}),
        weights(ops, c.dtype, scores(c)),
        dq(ops, c.dtype, rows(c.dims, c.dims.n_heads)),
        dk(ops, c.dtype, rows(c.dims, c.dims.n_kv_heads)),
        dv(ops, c.dtype, rows(c.dims, c.dims.n_kv_heads)),
        dcontext(ops, c.dtype, rows(c.dims, c.dims.n_heads)),
        dweights(ops, c.dtype, scores(c)) {}

  static Shape rows(const AttentionDims& d, std::int64_t heads) { return {d.batch * d.seq_len, heads * d.head_dim}; }
  static Shape scores(const AttentionCase& c) {
    if (c.kind == AttentionKind::flash) return {1};
    return {c.dims.batch, c.dims.n_heads, c.dims.seq_len, c.dims.seq_len};
  }

  Operand q, k, v, context, logsumexp, weights, dq, dk, dv, dcontext, dweights;
};

void attention(benchmark::State& state, const AttentionCase& c) {
  const auto ops = engine::make_cpu_ops();
  const Buffers x(*ops, c);
  const bool full = c.kind == AttentionKind::dot_product;
  const auto optional = [&](const Operand& o) { return full ? o.view() : engine::TensorView{}; };
  const auto forward = [&] {
    ops->attention_forward({.context = x.context,
                            .logsumexp_BHT = x.logsumexp,
                            .weights_BHTT = optional(x.weights),
                            .query = x.q,
                            .key = x.k,
                            .value = x.v,
                            .dims = c.dims,
                            .kind = c.kind});
  };
  const auto backward = [&] {
    ops->attention_backward({.dquery = x.dq,
                             .dkey = x.dk,
                             .dvalue = x.dv,
                             .dcontext = x.dcontext,
                             .query = x.q,
                             .key = x.k,
                             .value = x.v,
                             .context = x.context,
                             .logsumexp_BHT = x.logsumexp,
                             .weights_BHTT = optional(x.weights),
                             .dweights_BHTT = optional(x.dweights),
                             .dims = c.dims,
                             .kind = c.kind});
  };
  forward();
  ops->reset_flops();
  for (auto _ : state) {
    if (c.direction == Direction::forward) {
      forward();
    } else {
      backward();
    }
  }
  report_flops(state,
               static_cast<double>(ops->flops().attention_score_flops) / static_cast<double>(state.iterations()));
}

const bool kAttentionRegistered = [] {
  for (const auto dtype : {DType::f32, DType::bf16}) {
    for (const auto kind : {AttentionKind::flash, AttentionKind::dot_product}) {
      for (const auto direction : {Direction::forward, Direction::backward}) {
        for (const std::int64_t kv_heads : {12, 4}) {
          for (const std::int64_t seq_len : {64, 256, 1024, 4096}) {
            // At least about a thousand tokens, as in a microbatch.
            const AttentionDims dims{.batch = std::max<std::int64_t>(1, 1024 / seq_len),
                                     .seq_len = seq_len,
                                     .n_heads = 12,
                                     .n_kv_heads = kv_heads,
                                     .head_dim = 64};
            const auto name = std::string("attention/") + (kind == AttentionKind::flash ? "flash" : "dot_product") +
                              (direction == Direction::forward ? "_forward/" : "_backward/") +
                              std::string(engine::dtype_name(dtype)) + "/kv" + std::to_string(kv_heads) + "/T" +
                              std::to_string(seq_len);
            benchmark::RegisterBenchmark(name.c_str(), attention, AttentionCase{kind, direction, dtype, dims})
                ->UseRealTime();
          }
        }
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace perfbench::micro
