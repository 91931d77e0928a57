// The public operations: they check and count, then call the backend.
#include "engine/ops/ops.h"

#include <algorithm>
#include <vector>

#include "engine/core/float8.h"
#include "engine/core/stochastic_rounding.h"
#include "engine/ops/operand_checks.h"

namespace perfbench::engine {
namespace {

struct ProductShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

ProductShape check_matmul(const MatmulArgs& args) {
  const bool ranks = args.a.shape.rank() == 2 && args.b.shape.rank() == 2 && args.c.shape.rank() == 2;
  require(ranks, "matmul", "a, b and c have two dims", {args.a, args.b, args.c});
  require(evenly_apart(args.a) && evenly_apart(args.c), "matmul", "rows lie at one distance", {args.a, args.c});
  const bool ta = args.transpose_a == Transpose::yes;
  const bool tb = args.transpose_b == Transpose::yes;
  const ProductShape p{.m = args.a.shape[ta ? 1 : 0], .n = args.b.shape[tb ? 0 : 1], .k = args.a.shape[ta ? 0 : 1]};
  const bool fits = args.b.shape[tb ? 1 : 0] == p.k && args.c.shape == Shape{p.m, p.n};
  require(fits, "matmul", "c[m, n] = op(a)[m, k] op(b)[k, n]", {args.a, args.b, args.c});
  const bool quantized = is_float8(args.a.dtype) && is_float8(args.b.dtype);
  const DType result = quantized ? DType::bf16 : args.a.dtype;
  const bool types = quantized || (is_float(args.a.dtype) && args.a.dtype == args.b.dtype);
  require(types && (args.c.dtype == result || args.c.dtype == DType::f32), "matmul",
          "a and b share a type, c has it or f32; or both have 8 bits, and c is bf16 or f32", {args.a, args.b, args.c});
  const auto fits_scale = [&](const TensorView& scale) {
    const bool placed = reinterpret_cast<std::uintptr_t>(scale.data) % kScaleAlignment == 0;
    return quantized ? is_scalar_f32(scale) && placed : !scale.defined();
  };
  require(fits_scale(args.inverse_scale_a) && fits_scale(args.inverse_scale_b), "matmul",
          "operands in 8 bits, and no others, have inverse scales, f32 [1] at 16 bytes",
          {args.a, args.inverse_scale_a, args.b, args.inverse_scale_b});
  require(absent_or(args.bias_n, Shape{p.n}), "matmul", "bias is [n]", {args.c, args.bias_n});
  require(!args.bias_n.defined() || args.write == Write::overwrite, "matmul", "a bias needs Write::overwrite",
          {args.c});
  const bool plain = args.epilogue == Epilogue::none;
  require(plain ? !args.preactivation.defined()
                : same(args.preactivation, args.c) && args.c.is_dense() && args.c.dtype == result,
          "matmul", "an epilogue needs a dense c and a pre-activation like it, of the type of a, of 8 bits bf16",
          {args.a, args.c, args.preactivation});
  require(plain || args.write == Write::overwrite, "matmul", "an epilogue needs Write::overwrite", {args.c});
  require(args.additions == Additions::none || (args.write == Write::overwrite && plain && !args.bias_n.defined()),
          "matmul", "additions follow a plain product that overwrites", {args.c});
  return p;
}

constexpr std::string_view product_kind(Transpose a, Transpose b) {
  if (a == Transpose::no) return b == Transpose::no ? "NN" : "NT";
  return b == Transpose::no ? "TN" : "TT";
}

OperandForm form_of(const RowsView& x, std::string_view kind = {}) {
  return {.dtype = x.dtype, .kind = kind, .dims = {rows(x), columns(x)}};
}

OperandForm form_of(const AttentionDims& d, spec::AttentionKind kind, DType dtype) {
  return {
      .dtype = dtype, .kind = spec::enum_name(kind), .dims = {d.batch, d.seq_len, d.n_heads, d.n_kv_heads, d.head_dim}};
}

void describe(spec::OperationWork& work, spec::TraceOp op, const OperandForm& form) {
  work.operation = op;
  work.dtype = dtype_name(form.dtype);
  work.kind = form.kind;
  for (const auto dim : form.dims) {
    if (dim > 0) work.dims.push_back(dim);
  }
}

std::int64_t statistic_rows(spec::NormKind kind) {
  return kind == spec::NormKind::layernorm ? 2 : 1;
}

void check_norm(std::string_view op, const NormForwardArgs& args) {
  const auto& x = args.x_NM;
  require(x.shape.rank() == 2 && is_float(x.dtype) && same(args.y_NM, x), op, "y and x are [N, M] of one type",
          {args.y_NM, x});
  require(args.statistics.shape == (Shape{statistic_rows(args.kind), rows(x)}) && args.statistics.dtype == DType::f32,
          op, "statistics are f32 [1 or 2, N]", {args.statistics, x});
  require(args.weight_M.shape == Shape{columns(x)} && absent_or(args.bias_M, Shape{columns(x)}), op,
          "weight and bias are [M]", {x, args.weight_M, args.bias_M});
  require(!args.residual_NM.defined() || (same(args.residual_NM, x) && x.is_dense()), op,
          "the residual is like x, which is dense then", {x, args.residual_NM});
}

// The FLOPs of `products` products of D over the pairs of a causal attention. The FLOP definitions count the pairs as
// half the square: half of the two FLOPs of each pair and element, so that an odd square loses nothing.
std::int64_t causal_flops(const AttentionDims& d, std::int64_t products) {
  return products * d.batch * d.n_heads * d.seq_len * d.seq_len * d.head_dim;
}

void check_attention(std::string_view op, const AttentionDims& d, const RowsView& query, const RowsView& key,
                     const RowsView& value, const TensorView& context, const TensorView& logsumexp) {
  const Shape q_shape{d.batch * d.seq_len, d.n_heads * d.head_dim};
  const Shape kv_shape{d.batch * d.seq_len, d.n_kv_heads * d.head_dim};
  require(query.shape == q_shape && same(context, query), op, "query and context are [B*T, H*D]", {query, context});
  require(key.shape == kv_shape && same(value, key) && key.dtype == query.dtype, op, "key and value are [B*T, K*D]",
          {query, key, value});
  require(evenly_apart(query) && evenly_apart(key) && evenly_apart(value), op, "rows lie at one distance",
          {query, key, value});
  require(logsumexp.shape == Shape{d.batch, d.n_heads, d.seq_len} && logsumexp.dtype == DType::f32, op,
          "logsumexp is f32 [B, H, T]", {logsumexp});
  require(d.n_kv_heads > 0 && d.n_heads % d.n_kv_heads == 0, op, "key/value heads divide query heads", {query, key});
}

void check_bias(std::string_view op, const AttentionDims& d, const TensorView& bias) {
  require(absent_or(bias, Shape{d.n_heads, d.seq_len}) && (!bias.defined() || bias.dtype == DType::f32), op,
          "the bias is f32 [H, T]", {bias});
}

void check_first(std::string_view op, const TensorView& first, std::int64_t tokens) {
  require(absent_or(first, Shape{tokens}) && (!first.defined() || first.dtype == DType::i32), op,
          "where documents begin is i32 [N]", {first});
}

void check_weights(std::string_view op, const AttentionDims& d, spec::AttentionKind kind, const TensorView& weights) {
  const bool wanted = kind == spec::AttentionKind::dot_product;
  const bool fits = wanted ? weights.shape == Shape{d.batch, d.n_heads, d.seq_len, d.seq_len} : !weights.defined();
  require(fits, op, "dot_product holds [B, H, T, T] probabilities, flash none", {weights});
}

// The bytes that a norm reads and writes, without its statistics. With a residual, x is written too.
std::int64_t norm_inputs(const NormForwardArgs& args) {
  return bytes_of(args.x_NM, args.residual_NM, args.weight_M, args.bias_M);
}
std::int64_t norm_outputs(const NormForwardArgs& args) {
  return bytes_of(args.y_NM) + (args.residual_NM.defined() ? bytes_of(args.x_NM) : 0);
}

// The bytes that an embedding reads: a table row for each token, as if all tokens differed, but at most the whole
// table; and T rows of positions.
std::int64_t looked_up_bytes(const TensorView& table_VM, const TensorView& position_TM, const TensorView& tokens_N,
                             std::int64_t seq_len) {
  const std::int64_t of_positions = position_TM.defined() ? seq_len : 0;
  const std::int64_t of_tokens = std::min(tokens_N.elements(), rows(table_VM));
  return (of_tokens + of_positions) * columns(table_VM) * size_bytes(table_VM.dtype);
}

bool holds(const TokenRange& range, std::int64_t tokens) {
  return range.first >= 0 && (range.all == 0 ? range.first == 0 : range.first + tokens <= range.all);
}

void require_count(std::string_view op, const TensorView& counted_targets) {
  require(!counted_targets.defined() || is_scalar_f64(counted_targets), op, "counted targets are f64 [1]",
          {counted_targets});
}

}  // namespace

OpSpan Ops::begin(spec::TraceOp op, const OperationCost& cost) {
  if (table_ != nullptr) {
    const std::int64_t bytes = cost.read_bytes + cost.written_bytes;
    auto& work = (*table_)[{op, cost.form, bytes}];
    if (work.calls++ == 0) describe(work, op, cost.form);
    work.flops += cost.flops;
    work.bytes += bytes;
  }
  return OpSpan(trace_, op, spec::trace_kind(op) == spec::TraceKind::op ? 0 : cost.written_bytes);
}

void Ops::count(FlopPart part, std::int64_t flops) {
  if (pass_ == Pass::recompute) {
    flops_.rematerialised_flops += flops;
    return;
  }
  switch (part) {
    case FlopPart::attention_projection:
      flops_.attention_projection_flops += flops;
      break;
    case FlopPart::attention_score:
      flops_.attention_score_flops += flops;
      break;
    case FlopPart::feed_forward:
      flops_.feed_forward_flops += flops;
      break;
    case FlopPart::unembedding:
      flops_.unembedding_flops += flops;
      break;
    case FlopPart::embedding:
      flops_.embedding_flops += flops;
      break;
  }
}

void Ops::matmul(const MatmulArgs& args) {
  const auto p = check_matmul(args);
  const std::int64_t flops = 2 * p.m * p.n * p.k;
  count(args.part, flops);
  const bool reads_preactivation = args.epilogue == Epilogue::gelu_tanh_gradient;
  const std::int64_t preactivation = bytes_of(args.preactivation);
  const OpSpan span =
      begin(spec::TraceOp::matmul,
            {.form = {args.a.dtype, product_kind(args.transpose_a, args.transpose_b), {p.m, p.n, p.k}},
             .flops = flops,
             .read_bytes = bytes_of(args.a, args.b, args.bias_n, args.inverse_scale_a, args.inverse_scale_b) +
                           held_bytes(args.c, args.write) + (reads_preactivation ? preactivation : 0),
             .written_bytes = bytes_of(args.c) + (reads_preactivation ? 0 : preactivation)});
  do_matmul(args);
}

void Ops::bias_backward(TensorView dbias, RowsView dy, Write write) {
  require(evenly_apart(dy) && dbias.shape == Shape{columns(dy)} && dbias.dtype == DType::f32, "bias_backward",
          "dbias is f32 [O] for dy [N, O]", {dbias, dy});
  const OpSpan span = begin(
      spec::TraceOp::bias_backward,
      {.form = form_of(dy), .read_bytes = bytes_of(dy) + held_bytes(dbias, write), .written_bytes = bytes_of(dbias)});
  do_bias_backward(dbias, dy, write);
}

void Ops::norm_forward(const NormForwardArgs& args) {
  check_norm("norm_forward", args);
  const OpSpan span =
      begin(spec::TraceOp::norm_forward, {.form = form_of(args.x_NM, spec::enum_name(args.kind)),
                                          .read_bytes = norm_inputs(args),
                                          .written_bytes = norm_outputs(args) + bytes_of(args.statistics)});
  do_norm_forward(args);
}

void Ops::norm_apply(const NormForwardArgs& args) {
  check_norm("norm_apply", args);
  const OpSpan span = begin(spec::TraceOp::norm_apply, {.form = form_of(args.x_NM, spec::enum_name(args.kind)),
                                                        .read_bytes = norm_inputs(args) + bytes_of(args.statistics),
                                                        .written_bytes = norm_outputs(args)});
  do_norm_apply(args);
}

void Ops::norm_backward(const NormBackwardArgs& args) {
  const auto& x = args.x_NM;
  require(x.shape.rank() == 2 && same(args.dy_NM, x) && same(args.dx_NM, x), "norm_backward",
          "dx, dy and x are [N, M] of one type", {args.dx_NM, args.dy_NM, x});
  require(args.statistics.shape == (Shape{statistic_rows(args.kind), rows(x)}), "norm_backward",
          "statistics are [1 or 2, N]", {args.statistics, x});
  const Shape width{columns(x)};
  const auto is_gradient = [&](const TensorView& d) { return d.shape == width && d.dtype == DType::f32; };
  const bool fits = args.dweight_M.defined() ? is_gradient(args.dweight_M) && absent_or(args.dbias_M, width)
                                             : !args.dbias_M.defined();
  require(args.weight_M.shape == width && fits, "norm_backward",
          "weight, dweight and dbias are [M], the gradients f32, that of the bias with the weight's",
          {args.weight_M, args.dweight_M, args.dbias_M});
  const OpSpan span =
      begin(spec::TraceOp::norm_backward,
            {.form = form_of(x, spec::enum_name(args.kind)),
             .read_bytes = bytes_of(args.dy_NM, x, args.statistics, args.weight_M) +
                           held_bytes(args.dx_NM, args.write_dx) + held_bytes(args.dweight_M, args.write_parameters) +
                           held_bytes(args.dbias_M, args.write_parameters),
             .written_bytes = bytes_of(args.dx_NM, args.dweight_M, args.dbias_M)});
  do_norm_backward(args);
}

void Ops::rope(const RopeArgs& args) {
  const auto& table = args.cos_sin_TD;
  const bool fits = evenly_apart(args.x) && is_float(args.x.dtype) && args.head_dim > 0 && args.head_dim % 2 == 0 &&
                    columns(args.x) % args.head_dim == 0 && table.shape.rank() == 2 &&
                    columns(table) == args.head_dim && table.dtype == DType::f32 && rows(args.x) % rows(table) == 0;
  require(fits, "rope", "x is [B*T, heads*D], the table f32 [T, D]", {args.x, table});
  check_first("rope", args.first_N, rows(args.x));
  const OpSpan span =
      begin(spec::TraceOp::rope, {.form = {args.x.dtype, {}, {rows(args.x), columns(args.x), args.head_dim}},
                                  .read_bytes = bytes_of(args.x, table, args.first_N),
                                  .written_bytes = bytes_of(args.x)});
  do_rope(args);
}

void Ops::attention_forward(const AttentionForwardArgs& args) {
  check_attention("attention_forward", args.dims, args.query, args.key, args.value, args.context, args.logsumexp_BHT);
  check_weights("attention_forward", args.dims, args.kind, args.weights_BHTT);
  check_bias("attention_forward", args.dims, args.bias_HT);
  check_first("attention_forward", args.first_N, args.dims.batch * args.dims.seq_len);
  const std::int64_t flops = causal_flops(args.dims, 2);
  count(FlopPart::attention_score, flops);
  const OpSpan span = begin(spec::TraceOp::attention_forward,
                            {.form = form_of(args.dims, args.kind, args.query.dtype),
                             .flops = flops,
                             .read_bytes = bytes_of(args.query, args.key, args.value, args.bias_HT, args.first_N),
                             .written_bytes = bytes_of(args.context, args.logsumexp_BHT, args.weights_BHTT)});
  do_attention_forward(args);
}

void Ops::attention_backward(const AttentionBackwardArgs& args) {
  check_attention("attention_backward", args.dims, args.query, args.key, args.value, args.context, args.logsumexp_BHT);
  check_weights("attention_backward", args.dims, args.kind, args.weights_BHTT);
  check_weights("attention_backward", args.dims, args.kind, args.dweights_BHTT);
  require(same(args.dquery, args.query) && same(args.dkey, args.key) && same(args.dvalue, args.value) &&
              same(args.dcontext, args.query),
          "attention_backward", "gradients have the shape of their values",
          {args.dquery, args.dkey, args.dvalue, args.dcontext});
  require(evenly_apart(args.dquery) && evenly_apart(args.dkey) && evenly_apart(args.dvalue), "attention_backward",
          "rows lie at one distance", {args.dquery, args.dkey, args.dvalue});
  check_bias("attention_backward", args.dims, args.bias_HT);
  check_first("attention_backward", args.first_N, args.dims.batch * args.dims.seq_len);
  const auto& dbias = args.dbias_BHT;
  require(absent_or(dbias, args.logsumexp_BHT.shape) && (!dbias.defined() || dbias.dtype == DType::f32),
          "attention_backward", "dbias is f32 [B, H, T]", {dbias});
  require(args.bias_HT.defined() == (dbias.defined() && args.kind == spec::AttentionKind::flash), "attention_backward",
          "flash reads the bias whose gradient it computes, dot_product none", {args.bias_HT, dbias});
  // dv, dp, dq and dk; recomputing the scores in flash attention is not counted, as in the definitions.
  const std::int64_t flops = causal_flops(args.dims, 4);
  count(FlopPart::attention_score, flops);
  // The gradient of the scores is an operand: one product writes it, the next two read it.
  const OpSpan span =
      begin(spec::TraceOp::attention_backward,
            {.form = form_of(args.dims, args.kind, args.query.dtype),
             .flops = flops,
             .read_bytes = bytes_of(args.dcontext, args.query, args.key, args.value, args.context, args.logsumexp_BHT,
                                    args.bias_HT, args.first_N, args.weights_BHTT, args.dweights_BHTT),
             .written_bytes = bytes_of(args.dquery, args.dkey, args.dvalue, args.dbias_BHT, args.dweights_BHTT)});
  do_attention_backward(args);
}

void Ops::relative_bias_forward(const RelativeBiasForwardArgs& args) {
  const auto& bias = args.bias_HT;
  const auto& table = args.table_UH;
  require(bias.shape.rank() == 2 && bias.dtype == DType::f32 && table.shape.rank() == 2 && is_float(table.dtype) &&
              columns(table) == rows(bias) && args.buckets_T.shape == Shape{columns(bias)} &&
              args.buckets_T.dtype == DType::i32,
          "relative_bias_forward", "bias is f32 [H, T], the table [U, H], buckets i32 [T]",
          {bias, table, args.buckets_T});
  const OpSpan span = begin(spec::TraceOp::relative_bias_forward,
                            {.read_bytes = bytes_of(table, args.buckets_T), .written_bytes = bytes_of(bias)});
  do_relative_bias_forward(args);
}

void Ops::relative_bias_backward(const RelativeBiasBackwardArgs& args) {
  const auto& dbias = args.dbias_BHT;
  const auto& dtable = args.dtable_UH;
  require(dbias.shape.rank() == 3 && dbias.dtype == DType::f32 && dtable.shape.rank() == 2 &&
              dtable.dtype == DType::f32 && columns(dtable) == dbias.shape[1] &&
              args.buckets_T.shape == Shape{dbias.shape[2]} && args.buckets_T.dtype == DType::i32,
          "relative_bias_backward", "dbias is f32 [B, H, T], dtable f32 [U, H], buckets i32 [T]",
          {dbias, dtable, args.buckets_T});
  const OpSpan span = begin(spec::TraceOp::relative_bias_backward,
                            {.read_bytes = bytes_of(dbias, args.buckets_T) + held_bytes(dtable, args.write),
                             .written_bytes = bytes_of(dtable)});
  do_relative_bias_backward(args);
}

void Ops::activation_forward(const ActivationForwardArgs& args) {
  const bool gated = spec::is_gated(args.kind);
  require(same(args.product_NF, args.up_NF) && args.gate_NF.defined() == gated &&
              (!gated || same(args.gate_NF, args.up_NF)) && evenly_apart(args.up_NF) && evenly_apart(args.gate_NF),
          "activation_forward", "product, up and (gated kinds) gate are alike",
          {args.product_NF, args.gate_NF, args.up_NF});
  const OpSpan span = begin(spec::TraceOp::activation_forward, {.form = form_of(args.up_NF, spec::enum_name(args.kind)),
                                                                .read_bytes = bytes_of(args.gate_NF, args.up_NF),
                                                                .written_bytes = bytes_of(args.product_NF)});
  do_activation_forward(args);
}

void Ops::activation_backward(const ActivationBackwardArgs& args) {
  const bool gated = spec::is_gated(args.kind);
  require(same(args.dproduct_NF, args.up_NF) && args.gate_NF.defined() == gated &&
              (!gated || same(args.gate_NF, args.up_NF)) && evenly_apart(args.up_NF) && evenly_apart(args.gate_NF),
          "activation_backward", "dproduct, up and (gated kinds) gate are alike",
          {args.dproduct_NF, args.gate_NF, args.up_NF});
  const OpSpan span =
      begin(spec::TraceOp::activation_backward, {.form = form_of(args.up_NF, spec::enum_name(args.kind)),
                                                 .read_bytes = bytes_of(args.gate_NF, args.up_NF, args.dproduct_NF),
                                                 .written_bytes = bytes_of(args.gate_NF, args.up_NF)});
  do_activation_backward(args);
}

void Ops::embedding_forward(const EmbeddingForwardArgs& args) {
  const auto& x = args.x_NM;
  require(x.shape.rank() == 2 && args.tokens_N.shape == Shape{rows(x)} && args.tokens_N.dtype == DType::i32 &&
              args.table_VM.shape.rank() == 2 && columns(args.table_VM) == columns(x) && args.table_VM.dtype == x.dtype,
          "embedding_forward", "x is [N, M], tokens i32 [N], table [V, M] of x's type",
          {x, args.tokens_N, args.table_VM});
  const auto& position = args.position_TM;
  require(!position.defined() || (position.shape.rank() == 2 && columns(position) == columns(x) &&
                                  rows(position) >= args.seq_len && position.dtype == x.dtype),
          "embedding_forward", "positions are [at least T, M]", {x, position});
  require(args.seq_len > 0 && rows(x) % args.seq_len == 0, "embedding_forward", "N is a multiple of seq_len", {x});
  require(holds(args.range, rows(args.table_VM)), "embedding_forward", "rows are tokens of the vocabulary",
          {args.table_VM});
  check_first("embedding_forward", args.first_N, rows(x));
  const std::int64_t looked_up = looked_up_bytes(args.table_VM, position, args.tokens_N, args.seq_len);
  const OpSpan span =
      begin(spec::TraceOp::embedding_forward, {.form = {x.dtype, {}, {rows(x), columns(x), rows(args.table_VM)}},
                                               .read_bytes = bytes_of(args.tokens_N, args.first_N) + looked_up,
                                               .written_bytes = bytes_of(x)});
  do_embedding_forward(args);
}

void Ops::embedding_backward(const EmbeddingBackwardArgs& args) {
  const auto& dx = args.dx_NM;
  require(dx.shape.rank() == 2 && args.tokens_N.shape == Shape{rows(dx)} && args.dtable_VM.shape.rank() == 2 &&
              columns(args.dtable_VM) == columns(dx) && args.dtable_VM.dtype == DType::f32,
          "embedding_backward", "dx is [N, M], tokens i32 [N], dtable f32 [V, M]", {dx, args.tokens_N, args.dtable_VM});
  require(!args.dposition_TM.defined() ||
              (columns(args.dposition_TM) == columns(dx) && rows(args.dposition_TM) >= args.seq_len),
          "embedding_backward", "dposition is f32 [at least T, M]", {dx, args.dposition_TM});
  require(args.seq_len > 0 && rows(dx) % args.seq_len == 0, "embedding_backward", "N is a multiple of seq_len", {dx});
  require(holds(args.range, rows(args.dtable_VM)), "embedding_backward", "rows are tokens of the vocabulary",
          {args.dtable_VM});
  check_first("embedding_backward", args.first_N, rows(dx));
  const std::int64_t added_to = looked_up_bytes(args.dtable_VM, args.dposition_TM, args.tokens_N, args.seq_len);
  const OpSpan span =
      begin(spec::TraceOp::embedding_backward, {.form = {dx.dtype, {}, {rows(dx), columns(dx), rows(args.dtable_VM)}},
                                                .read_bytes = bytes_of(dx, args.tokens_N, args.first_N) + added_to,
                                                .written_bytes = added_to});
  do_embedding_backward(args);
}

void Ops::one_hot(const OneHotArgs& args) {
  const auto& out = args.rows_NV;
  require(out.shape.rank() == 2 && is_float(out.dtype) && args.tokens_N.shape == Shape{rows(out)} &&
              args.tokens_N.dtype == DType::i32,
          "one_hot", "rows are [N, V], tokens i32 [N]", {out, args.tokens_N});
  require(holds(args.range, columns(out)), "one_hot", "columns are tokens of the vocabulary", {out});
  const OpSpan span =
      begin(spec::TraceOp::one_hot,
            {.form = form_of(out), .read_bytes = bytes_of(args.tokens_N), .written_bytes = bytes_of(out)});
  do_one_hot(args);
}

void Ops::cross_entropy(const CrossEntropyArgs& args) {
  const auto& logits = args.logits_NV;
  require(logits.defined() && evenly_apart(logits) && args.targets_N.shape == Shape{rows(logits)} &&
              args.targets_N.dtype == DType::i32 && args.losses_N.shape == Shape{rows(logits)} &&
              args.losses_N.dtype == DType::f32,
          "cross_entropy", "logits are [N, V], targets i32 [N], losses f32 [N]",
          {logits, args.targets_N, args.losses_N});
  require_count("cross_entropy", args.counted_targets);
  const OpSpan span =
      begin(spec::TraceOp::cross_entropy, {.form = form_of(logits),
                                           .read_bytes = bytes_of(logits, args.targets_N, args.counted_targets),
                                           .written_bytes = bytes_of(logits, args.losses_N)});
  do_cross_entropy(args);
}

void Ops::cross_entropy_part(const CrossEntropyPartArgs& args) {
  const auto& logits = args.logits_NV;
  require(logits.defined() && evenly_apart(logits) && args.targets_N.shape == Shape{rows(logits)} &&
              args.targets_N.dtype == DType::i32 && args.statistics_3N.dtype == DType::f32 &&
              args.statistics_3N.shape == Shape{kCrossEntropyStatistics, rows(logits)},
          "cross_entropy_part", "logits are [N, V], targets i32 [N], statistics f32 [3, N]",
          {logits, args.targets_N, args.statistics_3N});
  const auto& others = args.others_N;
  require(absent_or(others, Shape{rows(logits)}) && (!others.defined() || others.dtype == DType::f32),
          "cross_entropy_part", "the others' greatest are f32 [N]", {others});
  require(holds(args.range, columns(logits)), "cross_entropy_part", "columns are tokens of the vocabulary", {logits});
  const OpSpan span = begin(spec::TraceOp::cross_entropy_part, {.form = form_of(logits),
                                                                .read_bytes = bytes_of(logits, args.targets_N),
                                                                .written_bytes = bytes_of(args.statistics_3N, others)});
  do_cross_entropy_part(args);
}

void Ops::score(const ScoreArgs& args) {
  const auto& statistics = args.statistics_R4N;
  const auto& scores = args.scores_B3;
  const std::int64_t n = args.targets_N.elements();
  require(args.targets_N.dtype == DType::i32 && statistics.dtype == DType::f32 && statistics.shape.rank() == 3 &&
              statistics.shape == Shape{statistics.shape[0], kScoreStatistics, n} && scores.dtype == DType::f64 &&
              scores.shape.rank() == 2 && columns(scores) == kScores,
          "score", "scores are f64 [B, 3], statistics f32 [ranks, 4, N], targets i32 [N]",
          {scores, statistics, args.targets_N});
  require(n > 0 && args.seq_len > 0 && args.first >= 0 && args.first + n <= rows(scores) * args.seq_len, "score",
          "the rows are positions of the sequences", {scores, args.targets_N});
  const std::int64_t sequences = (args.first + n - 1) / args.seq_len - args.first / args.seq_len + 1;
  const std::int64_t touched = sequences * kScores * size_bytes(DType::f64);
  const OpSpan span = begin(spec::TraceOp::score,
                            {.read_bytes = bytes_of(statistics, args.targets_N) + touched, .written_bytes = touched});
  do_score(args);
}

void Ops::cross_entropy_whole(const CrossEntropyWholeArgs& args) {
  const auto& logits = args.logits_NV;
  const auto& statistics = args.statistics_R3N;
  require(logits.defined() && evenly_apart(logits) && args.targets_N.shape == Shape{rows(logits)} &&
              args.targets_N.dtype == DType::i32 && args.losses_N.shape == Shape{rows(logits)} &&
              args.losses_N.dtype == DType::f32 && statistics.dtype == DType::f32 && statistics.shape.rank() == 3 &&
              statistics.shape == Shape{statistics.shape[0], kCrossEntropyStatistics, rows(logits)},
          "cross_entropy_whole", "logits are [N, V], targets i32 [N], losses f32 [N], statistics f32 [ranks, 3, N]",
          {logits, args.targets_N, args.losses_N, statistics});
  require(holds(args.range, columns(logits)), "cross_entropy_whole", "columns are tokens of the vocabulary", {logits});
  require_count("cross_entropy_whole", args.counted_targets);
  const OpSpan span = begin(spec::TraceOp::cross_entropy_whole,
                            {.form = form_of(logits),
                             .read_bytes = bytes_of(logits, args.targets_N, statistics, args.counted_targets),
                             .written_bytes = bytes_of(logits, args.losses_N)});
  do_cross_entropy_whole(args);
}

}  // namespace perfbench::engine
