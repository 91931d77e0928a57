// An attention with all its operands: random inputs, and zeros for the results.
#pragma once

#include "engine/ops/ops.h"
#include "tests/engine/documents.h"
#include "tests/engine/oracle/products.h"

namespace perfbench::engine {

enum class ScoreBias { none, by_distance };

struct AttentionProblem {
  AttentionProblem(DType dtype, const AttentionDims& dims_in, ScoreBias score_bias_in = ScoreBias::none,
                   const DocumentLengths& documents = {})
      : dims(dims_in),
        score_bias(score_bias_in),
        packed(!documents.empty()),
        query(oracle::random_operand(dtype, rows(dims.n_heads), 1)),
        key(oracle::random_operand(dtype, rows(dims.n_kv_heads), 2)),
        value(oracle::random_operand(dtype, rows(dims.n_kv_heads), 3)),
        dcontext(oracle::random_operand(dtype, rows(dims.n_heads), 4)),
        bias(oracle::random_operand(DType::f32, Shape{dims.n_heads, dims.seq_len}, 9)),
        first(document_starts(dims.batch, dims.seq_len, documents)),
        context(dtype, rows(dims.n_heads)),
        logsumexp(DType::f32, Shape{dims.batch, dims.n_heads, dims.seq_len}),
        weights(dtype, scores()),
        dweights(dtype, scores()),
        dquery(dtype, rows(dims.n_heads)),
        dkey(dtype, rows(dims.n_kv_heads)),
        dvalue(dtype, rows(dims.n_kv_heads)),
        dbias(DType::f32, logsumexp.view().shape) {}

  Shape rows(std::int64_t heads) const { return {dims.batch * dims.seq_len, heads * dims.head_dim}; }
  Shape scores() const { return {dims.batch, dims.n_heads, dims.seq_len, dims.seq_len}; }

  AttentionForwardArgs forward(spec::AttentionKind kind) const {
    return {.context = context,
            .logsumexp_BHT = logsumexp,
            .weights_BHTT = kind == spec::AttentionKind::flash ? TensorView{} : weights.view(),
            .query = query,
            .key = key,
            .value = value,
            .bias_HT = with_bias(bias),
            .first_N = packed ? first.view() : TensorView{},
            .dims = dims,
            .kind = kind};
  }
  AttentionBackwardArgs backward(spec::AttentionKind kind) const {
    return {.dquery = dquery,
            .dkey = dkey,
            .dvalue = dvalue,
            .dbias_BHT = with_bias(dbias),
            .dcontext = dcontext,
            .query = query,
            .key = key,
            .value = value,
            .context = context,
            .logsumexp_BHT = logsumexp,
            .bias_HT = kind == spec::AttentionKind::flash ? with_bias(bias) : TensorView{},
            .first_N = packed ? first.view() : TensorView{},
            .weights_BHTT = kind == spec::AttentionKind::flash ? TensorView{} : weights.view(),
            .dweights_BHTT = kind == spec::AttentionKind::flash ? TensorView{} : dweights.view(),
            .dims = dims,
            .kind = kind};
  }

  TensorView with_bias(const oracle::Operand& operand) const {
    return score_bias == ScoreBias::none ? TensorView{} : operand.view();
  }
  // In the form that an oracle takes.
  oracle::ScoreRules rules() const {
    return {.bias = score_bias == ScoreBias::none ? oracle::Values{} : bias.values(), .first = first.values()};
  }

  AttentionDims dims;
  ScoreBias score_bias;
  bool packed;
  oracle::Operand query, key, value, dcontext, bias, first;
  oracle::Operand context, logsumexp, weights, dweights, dquery, dkey, dvalue, dbias;
};

}  // namespace perfbench::engine
