// THE list of operations. The model is written once against it; a backend (cpu, cuda, dry) implements the do_*
// functions. The public functions check shapes and types, count floating point operations, and then call the backend in
// a span of the trace (spec::TraceOp), so that every backend is checked, counted and traced by the same lines.
//
// Letters of shapes: B sequences, T positions, N = B*T tokens, M d_model, H query heads, K key/value heads, D head_dim,
// F d_ff, V vocabulary. Weights are [out, in]. Reductions and softmax are in fp32 or better whatever the storage type.
// The same inputs give the same bits unless a run says `deterministic: false`; all but matrix products whatever the
// number of threads. Of those the library divides the work, and on some processors (AVX2) an element's sum has another
// order where another thread, or a product of more rows, computes it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/core/no_target.h"
#include "engine/core/pending.h"
#include "engine/core/rng.h"
#include "engine/core/rows_view.h"
#include "engine/ops/expert_operations.h"
#include "engine/ops/operation_list.h"
#include "engine/ops/operation_modes.h"
#include "engine/ops/recording.h"
#include "engine/trace/trace_sink.h"
#include "workloads/spec/model_spec.h"
#include "workloads/spec/operation_work.h"
#include "workloads/spec/run_kinds.h"
#include "workloads/spec/work_record.h"

namespace perfbench::engine {

// c[m, n] (+)= factor * op(a)[m, k] op(b)[k, n] (+ bias[n] on every row). a and b share a type; c is that type or f32.
// Or a and b are e4m3 or e5m2 each, quantized: the product of their numbers is multiplied by both inverse scales, and c
// is bf16 or f32.
// Accumulation in fp32. With an epilogue, z being that product (write must be overwrite, c of the type of a and b, or
// bf16):
//   gelu_tanh:          preactivation = z, c = gelu(z). Whether gelu sees z as it is rounded in preactivation, or as it
//                       was before, is the backend's to choose.
//   gelu_tanh_gradient: c = z * gelu'(preactivation).
struct MatmulArgs {
  RowsView a;
  TensorView b;
  RowsView c;  // with an epilogue dense
  Transpose transpose_a = Transpose::no;
  Transpose transpose_b = Transpose::no;
  Write write = Write::overwrite;
  Additions additions = Additions::none;  // follow: write must be overwrite, without bias and epilogue
  FlopPart part = FlopPart::feed_forward;
  TensorView bias_n = {};  // optional, forward only (write must be overwrite)
  Epilogue epilogue = Epilogue::none;
  TensorView preactivation = {};  // [m, n], with an epilogue only
  float factor = 1.0F;
  TensorView inverse_scale_a = {};  // f32 [1] at 16 bytes (kScaleAlignment), of an operand in 8 bits
  TensorView inverse_scale_b = {};
};

// Of a scale that products read: at other addresses cuBLASLt 13 has no product (CUBLAS_STATUS_NOT_SUPPORTED).
inline constexpr std::int64_t kScaleAlignment = 16;

// What belongs to all that is rounded to 8 bits with one scale, f32 [1] each: the largest magnitude that was met, what
// the numbers are multiplied by before they are rounded, and 1 / scale, which products are multiplied by.
struct QuantizationState {
  TensorView amax;
  TensorView scale;
  TensorView inverse_scale;
};

// out = in * scale, rounded by float8_code (engine/core/float8.h), of any number of tensors that share a state.
//   delayed: with the scale that the state has; amax becomes the largest magnitude of all numbers in them and of what
//            it was.
//   current: amax is that of these tensors alone, and scale and inverse_scale are made of it before they are read.
struct QuantizeArgs {
  struct Rounded {
    RowsView out;  // e4m3 or e5m2, of one type in all
    RowsView in;   // f32 or bf16
  };
  std::span<const Rounded> tensors;
  QuantizationState state;
  spec::Fp8Scaling scaling = spec::Fp8Scaling::delayed;
};

// At the end of a step, of S states of one format: amax becomes the first row of the history, whose last one goes, and
// is 0 then; scale = float8_scale (engine/core/float8.h) of the largest amax in the history.
struct UpdateScalesArgs {
  TensorView amax_S;
  TensorView history_HS;
  TensorView scale_S;
  RowsView inverse_scale_S1;
  DType format = DType::e4m3;
};

// statistics: rmsnorm [1, N]: 1/sqrt(mean(x^2) + eps); layernorm [2, N]: mean, then 1/sqrt(var + eps). Always f32.
// y = (x - mean) * rstd * weight + bias. With a residual, x becomes residual + x before: the bits of add() and of the
// norm of what it rounded, in one pass over memory. (Backward, write_dx = accumulate adds to the residual's gradient.)
struct NormForwardArgs {
  TensorView y_NM;
  TensorView statistics;
  RowsView x_NM;  // with a residual dense
  TensorView weight_M;
  TensorView bias_M = {};       // optional
  TensorView residual_NM = {};  // optional
  spec::NormKind kind = spec::NormKind::rmsnorm;
  double eps = 1e-5;
};

// dx (+)= gradient by x; dweight, dbias (+)= gradients by the parameters, f32, where those are asked for. dx may be dy
// itself, which it overwrites then.
struct NormBackwardArgs {
  RowsView dx_NM;
  TensorView dweight_M = {};  // optional
  TensorView dbias_M = {};    // optional, with dweight only
  RowsView dy_NM;
  RowsView x_NM;
  TensorView statistics;
  TensorView weight_M;
  spec::NormKind kind = spec::NormKind::rmsnorm;
  Write write_dx = Write::overwrite;
  Write write_parameters = Write::accumulate;
};

// Rows of tokens may hold several documents one behind the other: first_N, i32 [N], says of every token where within
// its row of T its document begins. It never falls within a row, and is at most the token's own place. Undefined where
// each row is one document. A token's position counts from there, and attention sees nothing before it.

// In place on x[N, heads*D]; row r is at position r % T (- first[r]). forward rotates by the angle, backward by its
// negative.
struct RopeArgs {
  RowsView x;
  TensorView cos_sin_TD;    // f32 [T, D]: D/2 cosines, then D/2 sines
  TensorView first_N = {};  // optional
  std::int64_t head_dim = 0;
  spec::RopeLayout layout = spec::RopeLayout::half;
  Direction direction = Direction::forward;
};

// The score factor of Vaswani et al., "Attention is all you need", arXiv:1706.03762.
inline float inverse_root(std::int64_t head_dim) {
  return 1.0F / std::sqrt(static_cast<float>(head_dim));
}

struct AttentionDims {
  std::int64_t batch = 0;       // B
  std::int64_t seq_len = 0;     // T
  std::int64_t n_heads = 0;     // H
  std::int64_t n_kv_heads = 0;  // K, divides H; query head h reads key/value head h / (H/K)
  std::int64_t head_dim = 0;    // D
  float score_factor = inverse_root(head_dim);
};

// Causal softmax(score_factor q k^T + bias) v, of query i and key j bias[h, i - j]; the query sees the keys first[i] to
// i, first 0 without first_N. dot_product writes the probabilities (zero for keys that are not seen) to weights_BHTT;
// flash works in tiles and takes none. logsumexp of the scores of each row.
// FLOPs are counted of the whole causal square, whatever documents it holds: they are those of the definitions
// (workloads/spec/flops.h), and a plan knows them. Tiles of keys that no query of a tile sees are left out all the
// same.
struct AttentionForwardArgs {
  TensorView context;            // [N, H*D]
  TensorView logsumexp_BHT;      // f32
  TensorView weights_BHTT = {};  // dot_product only
  RowsView query;                // [N, H*D]
  RowsView key;                  // [N, K*D]
  RowsView value;                // [N, K*D]
  TensorView bias_HT = {};       // f32, optional
  TensorView first_N = {};       // optional
  AttentionDims dims;
  spec::AttentionKind kind = spec::AttentionKind::flash;
};

// dot_product reads weights_BHTT and uses dweights_BHTT as scratch for the gradient of the scores; flash computes the
// probabilities again from logsumexp, and the bias. dbias[b, h, d] is the sum over all queries i of the gradients by
// the scores of i and i - d.
struct AttentionBackwardArgs {
  RowsView dquery;            // [N, H*D]
  RowsView dkey;              // [N, K*D]
  RowsView dvalue;            // [N, K*D]
  TensorView dbias_BHT = {};  // f32, where a bias was added
  TensorView dcontext;
  RowsView query;
  RowsView key;
  RowsView value;
  TensorView context;
  TensorView logsumexp_BHT;
  TensorView bias_HT = {};        // flash only, where a bias was added
  TensorView first_N = {};        // as forward
  TensorView weights_BHTT = {};   // dot_product only
  TensorView dweights_BHTT = {};  // dot_product only
  AttentionDims dims;
  spec::AttentionKind kind = spec::AttentionKind::flash;
};

// bias[h, d] = table[bucket[d], h]: what attention adds to scores by the distance d from a query back to a key.
struct RelativeBiasForwardArgs {
  TensorView bias_HT;    // f32
  TensorView table_UH;   // U buckets
  TensorView buckets_T;  // i32, in [0, U)
};

// dtable[u, h] (+)= sum of dbias[b, h, d] over all sequences and the distances of bucket u; f32.
struct RelativeBiasBackwardArgs {
  TensorView dtable_UH;
  TensorView dbias_BHT;
  TensorView buckets_T;
  Write write = Write::accumulate;
};

// Gated kinds: product = act(gate) * up. Un-gated: product = act(up), gate absent.
struct ActivationForwardArgs {
  TensorView product_NF;
  RowsView gate_NF = {};
  RowsView up_NF;
  spec::Activation kind = spec::Activation::swiglu;
};

// In place: gate and up hold the forward's inputs and receive their gradients.
struct ActivationBackwardArgs {
  RowsView gate_NF = {};
  RowsView up_NF;
  TensorView dproduct_NF;
  spec::Activation kind = spec::Activation::swiglu;
};

// Which tokens the rows of a table, or the columns of logits, stand for: those from `first` on, of `all`. Where `all`
// is 0, every token has its own.
struct TokenRange {
  std::int64_t first = 0;
  std::int64_t all = 0;
};

// x[r] = table[token[r]] (+ position[r % T - first[r]]). Of a token that has no row in the table: 0 (+ position).
struct EmbeddingForwardArgs {
  TensorView x_NM;
  TensorView tokens_N;  // i32
  TensorView table_VM;
  TokenRange range = {};        // of the table
  TensorView position_TM = {};  // optional
  TensorView first_N = {};      // optional
  std::int64_t seq_len = 0;
};

// dtable and dposition always accumulate, f32; rows of one token are added in the order of r.
struct EmbeddingBackwardArgs {
  TensorView dtable_VM;
  TokenRange range = {};         // of the table
  TensorView dposition_TM = {};  // optional
  TensorView dx_NM;
  TensorView tokens_N;
  TensorView first_N = {};  // optional
  std::int64_t seq_len = 0;
};

// rows[r] = 1 in the column of token[r], 0 elsewhere; 0 everywhere of a token that has no column.
struct OneHotArgs {
  TensorView rows_NV;
  TensorView tokens_N;    // i32
  TokenRange range = {};  // of the columns
};

// losses[r] = logsumexp(logits[r]) - logits[r][target[r]]; logits become (softmax(logits) - onehot(target)) *
// gradient_scale, over counted_targets where that is there. Both are 0, whatever the logits, where the target is
// kNoTarget.
struct CrossEntropyArgs {
  TensorView losses_N;   // f32
  RowsView logits_NV;    // in and out
  TensorView targets_N;  // i32
  double gradient_scale = 1.0;
  // f64 [1], optional: how many targets a mean is over, where the device knows it and not the host.
  TensorView counted_targets = {};
};

// The same by ranks that have some of the columns each: what a row's own columns tell the others (the maximum, the sum
// of exp(x - maximum), the target's logit, or 0 where it is elsewhere or there is none), and losses and gradients once
// that of all ranks is there.
inline constexpr std::int64_t kCrossEntropyStatistics = 3;
struct CrossEntropyPartArgs {
  TensorView statistics_3N;  // f32
  RowsView logits_NV;
  TensorView targets_N;      // i32
  TokenRange range;          // of the columns
  TensorView others_N = {};  // f32, optional: the greatest of the row's own columns but the target's, the lowest f32
                             // where there is none
};
struct CrossEntropyWholeArgs {
  TensorView losses_N;        // f32
  RowsView logits_NV;         // in and out
  TensorView statistics_R3N;  // f32, of all ranks
  TensorView targets_N;       // i32
  TokenRange range;           // of the columns
  double gradient_scale = 1.0;
  TensorView counted_targets = {};
};

// What a model says of the targets of each of B sequences, from what all ranks' parts tell of the rows (statistics_3N,
// then others_N). Added to scores[b]: the log-likelihood of its targets, how many there are, and how many of them are
// no greedy choice: another token's logit is as great, or the row has a logit that is no number.
inline constexpr std::int64_t kScoreStatistics = kCrossEntropyStatistics + 1;
inline constexpr std::int64_t kScores = 3;
struct ScoreArgs {
  TensorView scores_B3;       // f64
  TensorView statistics_R4N;  // f32, of all ranks
  TensorView targets_N;       // i32
  std::int64_t first = 0;     // of the N rows, among the B*T positions
  std::int64_t seq_len = 0;
};

// What differs from step to step. It is read from a tensor, f64 [kAdamwFactors], so that the device needs no word from
// the host between the gradients and the update, and a recorded step can be replayed.
enum class AdamwFactor {
  learning_rate,
  bias_correction1,  // 1 - beta1^t
  bias_correction2,
  gradient_scale,
};
inline constexpr std::int64_t kAdamwFactors = 4;
constexpr std::size_t index(AdamwFactor factor) {
  return static_cast<std::size_t>(factor);
}

// Keeps a zero norm from dividing by zero, as the reference implementations do.
inline constexpr double kClipNormFloor = 1e-6;

// Of a call that brings values to the host as fast as it can: room for so many waits in pinned memory.
inline constexpr std::size_t kQuicklyReadValues = 8;

// A tensor to update, and what belongs to it: all of one shape, f32 but for what says otherwise.
struct AdamwTensor {
  TensorView weight;
  TensorView gradient;       // f32 or, of all tensors of a call, bf16
  TensorView first_moment;   // likewise
  TensorView second_moment;  // as the first
  double weight_decay = 0;
  TensorView bf16_weight = {};  // optional: the new weight as copy() would round it
  // By which moments are rounded to bf16: those of element i by draws of first_index + i of the stream at `step`
  // (moment_draws).
  RngStream draws = {0, ""};
  std::int64_t first_index = 0;
};

// Decoupled weight decay, in place, on any number of tensors at once. g = gradient * gradient_scale;
// m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
// weight -= learning_rate * (m/bias_correction1 / (sqrt(v/bias_correction2) + eps) + weight_decay * weight).
// The m and v of this update are f32; what is kept of them in bf16 is rounded by chance (stochastic_rounding.h).
// Loshchilov, Hutter, "Decoupled Weight Decay Regularization", 2019.
struct AdamwArgs {
  std::span<const AdamwTensor> tensors;
  TensorView factors;
  TensorView step = {};  // i32 [1], of moments in bf16
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
};

// out = x / (1 - rate) where the draw of (first_row + row, column) at `step` in the stream keeps it, else 0, whatever x
// is (engine/core/dropout_draws.h). out may be x. The gradient goes back by the same call.
struct DropoutArgs {
  TensorView out_RM;
  TensorView x_RM;
  TensorView step;  // i32 [1]: on the device, so that a recorded step can be replayed
  std::uint64_t seed = 0;
  std::string_view stream;
  std::int64_t first_row = 0;
  double rate = 0;  // in [0, 1)
};

// What a call costs by its operands alone: each that is read is read once, each that is written is written once,
// wherever they lie. What kernels read again, or keep in scratch, is theirs. ops.cpp states it in each operation's
// function.
struct OperationCost {
  std::int64_t flops = 0;  // of products
  std::int64_t read_bytes = 0;
  std::int64_t written_bytes = 0;
};

using OperationTable = std::map<spec::TraceOp, spec::OperationWork>;

class Ops {
 public:
  virtual ~Ops() = default;

  void matmul(const MatmulArgs& args);
  // dbias[O] (+)= column sums of dy[N, O]; f32.
  void bias_backward(TensorView dbias, RowsView dy, Write write);
  void norm_forward(const NormForwardArgs& args);
  // y (and x, with a residual) from given statistics: the same bits as norm_forward's.
  void norm_apply(const NormForwardArgs& args);
  void norm_backward(const NormBackwardArgs& args);
  void rope(const RopeArgs& args);
  void attention_forward(const AttentionForwardArgs& args);
  void attention_backward(const AttentionBackwardArgs& args);
  void relative_bias_forward(const RelativeBiasForwardArgs& args);
  void relative_bias_backward(const RelativeBiasBackwardArgs& args);
  void activation_forward(const ActivationForwardArgs& args);
  void activation_backward(const ActivationBackwardArgs& args);
  void embedding_forward(const EmbeddingForwardArgs& args);
  void embedding_backward(const EmbeddingBackwardArgs& args);
  void one_hot(const OneHotArgs& args);
  void cross_entropy(const CrossEntropyArgs& args);
  void cross_entropy_part(const CrossEntropyPartArgs& args);
  void cross_entropy_whole(const CrossEntropyWholeArgs& args);
  void score(const ScoreArgs& args);
  // expert_operations.h
  void route_forward(const RouteForwardArgs& args);
  void route_backward(const RouteBackwardArgs& args);
  void dispatch(const DispatchArgs& args);
  void combine(const CombineArgs& args);
  void gates_backward(const GatesBackwardArgs& args);
  void expert_product(const ExpertProductArgs& args);
  void adamw(const AdamwArgs& args);
  // scale[1] = min(1, clip_norm / (sqrt(square_sum[1]) + kClipNormFloor)), f64: what brings the norm of a gradient with
  // that sum of squares down to clip_norm. 1 when clip_norm is 0.
  void clip_scale(TensorView scale, TensorView square_sum, double clip_norm);

  // out = a + b, elementwise, in f32 and rounded once. One type, but that b may be f32; out may be a or b.
  void add(TensorView out, TensorView a, TensorView b);
  void dropout(const DropoutArgs& args);
  // out = parts[0] + parts[1] + ..., which lie one behind the other; in f32, in this order, rounded once. One type.
  void sum_parts(TensorView out, TensorView parts);
  // Same shape, same or another type (round to nearest even).
  void copy(TensorView out, TensorView in);
  // out[i] = in[i], rounded to bf16 by the draw of element first_index + i at `step` in the stream
  // (engine/core/stochastic_rounding.h).
  struct StochasticCastArgs {
    TensorView out;   // bf16
    TensorView in;    // f32
    TensorView step;  // i32 [1]: on the device, so that a recorded step can be replayed
    std::uint64_t seed = 0;
    std::string_view stream;
    std::int64_t first_index = 0;  // a multiple of kDrawsPerWord
  };
  void cast_stochastic(const StochasticCastArgs& args);
  void quantize(const QuantizeArgs& args);
  void update_scales(const UpdateScalesArgs& args);
  // Moves bytes between device and host memory, beside the operations that follow: it begins when the ones before have
  // ended, and what is enqueued after wait() follows it.
  Pending transfer(TensorView out, TensorView in);
  void fill(TensorView out, double value);
  // out[i] = f32(mean + std * stream.normal(index(i))), where index(i) = first_index + j / run * stride + j % run with
  // j = skip + i: a part of a matrix is runs of neighbours, one stride after the other.
  struct NormalArgs {
    TensorView out;  // f32
    std::uint64_t seed = 0;
    std::string_view stream;
    std::int64_t first_index = 0;
    std::int64_t skip = 0;
    std::int64_t run = std::numeric_limits<std::int64_t>::max();
    std::int64_t stride = 0;
    double mean = 0;
    double std = 1;
  };
  void fill_normal(const NormalArgs& args);

  // out[1] (+)= sum of x, in f64.
  void sum(TensorView out_f64, TensorView x, Write write);
  // out[1] (+)= sum of the squares of all tensors, in f64: the same bits as adding one tensor's after the other's.
  void sum_of_squares(TensorView out_f64, std::span<const TensorView> tensors, Write write);
  // To the host: waits for the values, few of which come quicker. Zeros in a dry walk.
  void read_f64(std::span<double> to, TensorView values);
  double read_f64(TensorView scalar);
  // From host memory; `from` holds out.bytes() bytes and may be null in a dry walk.
  void upload(TensorView out, const void* from);

  void set_pass(Pass pass) { pass_ = pass; }
  Pass pass() const { return pass_; }
  // Every operation is a span of `sink`; none with null.
  void set_trace(TraceSink* sink) { trace_ = sink; }
  // The cost of every call is added to `table`; none with null. A replayed recording calls nothing.
  void set_table(OperationTable* table) { table_ = table; }
  // Since construction or the last reset.
  const spec::FlopCounts& flops() const { return flops_; }
  void reset_flops() { flops_ = {}; }
  // Of operations that were not called one by one: a replayed recording's.
  void add_flops(const spec::FlopCounts& counts) { spec::add(flops_, counts); }

  // Recordings (engine/sharding/recorded_work.h): what is enqueued between begin and end becomes one piece of work, run
  // at its end. `earlier`, of the same work or null, may become it. A backend that computes at once has none.
  virtual bool records() const { return false; }
  virtual void begin_recording() {}
  virtual std::unique_ptr<Recording> end_recording(std::unique_ptr<Recording> /*earlier*/) { return nullptr; }

  // Memory of workspace::bytes(run) bytes that operations may use until the next call; not every backend needs any.
  virtual void use_workspace(TensorView) {}

  // Until everything that was enqueued has run; at once where the host computes.
  virtual void synchronize() {}

  // Whether `precision` is computed by conversion because the chip has no such units.
  virtual bool emulates(spec::Precision precision) const = 0;

  // Who computed flash attention so far, where there is a choice. Of a direction in which not every call was a
  // library's: own.
  virtual std::vector<spec::AttentionKernel> attention_kernels() const { return {}; }

 protected:
#define PERFBENCH_DECLARE(name, arguments) virtual void do_##name arguments = 0;
  PERFBENCH_OPERATIONS(PERFBENCH_DECLARE)
#undef PERFBENCH_DECLARE
  // nullptr: already done.
  virtual std::unique_ptr<Pending::State> do_transfer(TensorView out, TensorView in) = 0;
  virtual void do_read_f64(std::span<double> to, TensorView values) = 0;

 private:
  void count(FlopPart part, std::int64_t flops);
  // Books the cost of a call and opens its span.
  OpSpan begin(spec::TraceOp op, const OperationCost& cost);

  Pass pass_ = Pass::first;
  TraceSink* trace_ = nullptr;
  OperationTable* table_ = nullptr;
  spec::FlopCounts flops_;
};

std::unique_ptr<Ops> make_cpu_ops();
std::unique_ptr<Ops> make_dry_ops();

}  // namespace perfbench::engine
