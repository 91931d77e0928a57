// THE list of operations. The model is written once against it; a backend (cpu, cuda, dry) implements the do_*
// functions. The public functions check shapes and types, count floating point operations, and then call the backend in
// a span of the trace (spec::TraceOp), so that every backend is checked, counted and traced by the same lines.
//
// Letters of shapes: B sequences, T positions, N = B*T tokens, M d_model, H query heads, K key/value heads, D head_dim,
// F d_ff, V vocabulary. Weights are [out, in]. Reductions and softmax are in fp32 or better whatever the storage type.
// The same inputs give the same bits unless a run says `deterministic: false`. For all operations but matrix products
// this holds for any number of threads. The library divides the work of matrix products: on some processors (AVX2) the
// order of an element's sum depends on the thread, or on the number of rows, with which it is computed.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
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

// c[m, n] (+)= factor * op(a)[m, k] op(b)[k, n] (+ bias[n] on every row). a and b share a type; c has that type or f32.
// Or a and b are each e4m3 or e5m2, quantized: the product of their numbers is multiplied by both inverse scales, and c
// is bf16 or f32.
// Accumulation is in fp32. With an epilogue, where z is that product (write must be overwrite, and c must have the type
// of a and b, or bf16):
//   gelu_tanh:          preactivation = z, c = gelu(z). The backend chooses whether gelu reads z before or after its
//                       rounding in preactivation.
//   gelu_tanh_gradient: c = z * gelu'(preactivation).
struct MatmulArgs {
  RowsView a;
  TensorView b;
  RowsView c;  // dense with an epilogue
  Transpose transpose_a = Transpose::no;
  Transpose transpose_b = Transpose::no;
  Write write = Write::overwrite;
  Additions additions = Additions::none;  // follow: write must be overwrite, without bias and epilogue
  FlopPart part = FlopPart::feed_forward;
  TensorView bias_n = {};  // optional, forward only (write must be overwrite)
  Epilogue epilogue = Epilogue::none;
  TensorView preactivation = {};  // [m, n], only with an epilogue
  float factor = 1.0F;
  TensorView inverse_scale_a = {};  // f32 [1], aligned to kScaleAlignment, for an 8-bit operand
  TensorView inverse_scale_b = {};
};

// The alignment in bytes of a scale that products read: for others cuBLASLt 13 has no product
// (CUBLAS_STATUS_NOT_SUPPORTED).
inline constexpr std::int64_t kScaleAlignment = 16;

// The state shared by all tensors that are rounded to 8 bits with one scale, f32 [1] each: the largest magnitude met,
// the factor applied before rounding, and 1 / scale, the factor applied to products.
struct QuantizationState {
  TensorView amax;
  TensorView scale;
  TensorView inverse_scale;
};

// out = in * scale, rounded by float8_code (engine/core/float8.h), for any number of tensors that share a state.
// - delayed: uses the state's scale; amax becomes the largest magnitude among these tensors and its own old value.
// - current: amax is that of these tensors alone, and first gives scale and inverse_scale.
struct QuantizeArgs {
  struct Rounded {
    RowsView out;  // e4m3 or e5m2, the same in all
    RowsView in;   // f32 or bf16
  };
  std::span<const Rounded> tensors;
  QuantizationState state;
  spec::Fp8Scaling scaling = spec::Fp8Scaling::delayed;
};

// For the end of a step, with S states of one format: amax becomes the first row of the history, whose last row is
// dropped, and is then reset to 0. scale = float8_scale (engine/core/float8.h) of the largest amax in the history.
struct UpdateScalesArgs {
  TensorView amax_S;
  TensorView history_HS;
  TensorView scale_S;
  RowsView inverse_scale_S1;
  DType format = DType::e4m3;
};

// statistics: rmsnorm [1, N]: 1/sqrt(mean(x^2) + eps); layernorm [2, N]: mean, then 1/sqrt(var + eps). Always f32. y =
// (x - mean) * rstd * weight + bias. With a residual, x first becomes residual + x: the same bits as add() and the norm
// of its rounded result, in one pass over memory. (In the backward pass, write_dx = accumulate adds to the residual's
// gradient.)
struct NormForwardArgs {
  TensorView y_NM;
  TensorView statistics;
  RowsView x_NM;  // dense with a residual
  TensorView weight_M;
  TensorView bias_M = {};       // optional
  TensorView residual_NM = {};  // optional
  spec::NormKind kind = spec::NormKind::rmsnorm;
  double eps = 1e-5;
};

// dx (+)= the gradient of x; dweight, dbias (+)= the gradients of the parameters, f32, if they are defined. dx may be
// dy itself and then overwrites it.
struct NormBackwardArgs {
  RowsView dx_NM;
  TensorView dweight_M = {};  // optional
  TensorView dbias_M = {};    // optional, only with dweight
  RowsView dy_NM;
  RowsView x_NM;
  TensorView statistics;
  TensorView weight_M;
  spec::NormKind kind = spec::NormKind::rmsnorm;
  Write write_dx = Write::overwrite;
  Write write_parameters = Write::accumulate;
};

// Rows of tokens may hold several documents one behind the other: first_N, i32 [N], gives for every token the place
// within its row of T where its document begins. Within a row it never decreases, and it is at most the token's own
// place. It is undefined if each row is one document. A token's position counts from there, and attention sees no
// earlier token.

// In place on x[N, heads*D]; row r has position r % T (- first[r]). forward rotates by the angle, backward by its
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

// Causal softmax(score_factor q k^T + bias) v, with bias[h, i - j] for query i and key j. The query sees the keys
// first[i] to i, where first is 0 without first_N. dot_product writes the probabilities (zero for keys that are not
// seen) to weights_BHTT; flash works in tiles and does not use it. Also writes the logsumexp of the scores of each row.
// FLOPs are counted for the whole causal square, whatever documents it holds, as in the definitions
// (workloads/spec/flops.h), so that a plan knows them. Tiles of keys that no query of a tile sees are skipped
// nevertheless.
struct AttentionForwardArgs {
  TensorView context;            // [N, H*D]
  TensorView logsumexp_BHT;      // f32
  TensorView weights_BHTT = {};  // only with dot_product
  RowsView query;                // [N, H*D]
  RowsView key;                  // [N, K*D]
  RowsView value;                // [N, K*D]
  TensorView bias_HT = {};       // f32, optional
  TensorView first_N = {};       // optional
  AttentionDims dims;
  spec::AttentionKind kind = spec::AttentionKind::flash;
};

// dot_product reads weights_BHTT and uses dweights_BHTT as scratch for the gradient of the scores; flash recomputes the
// probabilities from logsumexp and the bias. dbias[b, h, d] is the sum over all queries i of the gradients of the
// scores of i and i - d.
struct AttentionBackwardArgs {
  RowsView dquery;            // [N, H*D]
  RowsView dkey;              // [N, K*D]
  RowsView dvalue;            // [N, K*D]
  TensorView dbias_BHT = {};  // f32, if a bias was added
  TensorView dcontext;
  RowsView query;
  RowsView key;
  RowsView value;
  TensorView context;
  TensorView logsumexp_BHT;
  TensorView bias_HT = {};        // only with flash, if a bias was added
  TensorView first_N = {};        // as in the forward pass
  TensorView weights_BHTT = {};   // only with dot_product
  TensorView dweights_BHTT = {};  // only with dot_product
  AttentionDims dims;
  spec::AttentionKind kind = spec::AttentionKind::flash;
};

// bias[h, d] = table[bucket[d], h]: the addend of attention scores for the distance d from a query back to a key.
struct RelativeBiasForwardArgs {
  TensorView bias_HT;    // f32
  TensorView table_UH;   // U buckets
  TensorView buckets_T;  // i32, in [0, U)
};

// dtable[u, h] (+)= sum of dbias[b, h, d] over all sequences and the distances in bucket u; f32.
struct RelativeBiasBackwardArgs {
  TensorView dtable_UH;
  TensorView dbias_BHT;
  TensorView buckets_T;
  Write write = Write::accumulate;
};

// Gated kinds: product = act(gate) * up. Un-gated kinds: product = act(up), without gate.
struct ActivationForwardArgs {
  TensorView product_NF;
  RowsView gate_NF = {};
  RowsView up_NF;
  spec::Activation kind = spec::Activation::swiglu;
};

// In place: gate and up hold the inputs of the forward pass and receive their gradients.
struct ActivationBackwardArgs {
  RowsView gate_NF = {};
  RowsView up_NF;
  TensorView dproduct_NF;
  spec::Activation kind = spec::Activation::swiglu;
};

// The tokens that the rows of a table, or the columns of logits, stand for: those from `first` on, out of `all`. If
// `all` is 0, every token has its own.
struct TokenRange {
  std::int64_t first = 0;
  std::int64_t all = 0;
};

// x[r] = table[token[r]] (+ position[r % T - first[r]]). A token without a row in the table gives 0 (+ position).
struct EmbeddingForwardArgs {
  TensorView x_NM;
  TensorView tokens_N;  // i32
  TensorView table_VM;
  TokenRange range = {};        // of the table
  TensorView position_TM = {};  // optional
  TensorView first_N = {};      // optional
  std::int64_t seq_len = 0;
};

// dtable and dposition always accumulate, f32; gradients of one token are added in the order of r.
struct EmbeddingBackwardArgs {
  TensorView dtable_VM;
  TokenRange range = {};         // of the table
  TensorView dposition_TM = {};  // optional
  TensorView dx_NM;
  TensorView tokens_N;
  TensorView first_N = {};  // optional
  std::int64_t seq_len = 0;
};

// rows[r] = 1 in the column of token[r], 0 elsewhere; 0 everywhere if the token has no column.
struct OneHotArgs {
  TensorView rows_NV;
  TensorView tokens_N;    // i32
  TokenRange range = {};  // of the columns
};

// losses[r] = logsumexp(logits[r]) - logits[r][target[r]]; logits become (softmax(logits) - onehot(target)) *
// gradient_scale, divided by counted_targets if that is defined. Both are 0, whatever the logits, if the target is
// kNoTarget.
struct CrossEntropyArgs {
  TensorView losses_N;   // f32
  RowsView logits_NV;    // in and out
  TensorView targets_N;  // i32
  double gradient_scale = 1.0;
  // f64 [1], optional: the number of targets in the mean, if the device knows it and the host does not.
  TensorView counted_targets = {};
};

// The same for ranks that each have some of the columns. First the statistics of a row's own columns, for the other
// ranks: the maximum, the sum of exp(x - maximum), and the target's logit, or 0 if the target is elsewhere or absent.
// Then losses and gradients, from the statistics of all ranks.
inline constexpr std::int64_t kCrossEntropyStatistics = 3;
struct CrossEntropyPartArgs {
  TensorView statistics_3N;  // f32
  RowsView logits_NV;
  TensorView targets_N;  // i32
  TokenRange range;      // range of the columns
  // f32, optional: the greatest of the row's own columns except the target's, or the lowest f32 if there is no such
  // column
  TensorView others_N = {};
};
struct CrossEntropyWholeArgs {
  TensorView losses_N;        // f32
  RowsView logits_NV;         // in and out
  TensorView statistics_R3N;  // f32, of all ranks
  TensorView targets_N;       // i32
  TokenRange range;           // range of the columns
  double gradient_scale = 1.0;
  TensorView counted_targets = {};
};

// Scores the targets of each of B sequences, from the statistics that all ranks computed for the rows (statistics_3N,
// then others_N). Adds to scores[b]: the log-likelihood of its targets, their number, and how many of them are not the
// greedy choice: another token's logit is as great, or the row has a logit that is NaN.
inline constexpr std::int64_t kScoreStatistics = kCrossEntropyStatistics + 1;
inline constexpr std::int64_t kScores = 3;
struct ScoreArgs {
  TensorView scores_B3;       // f64
  TensorView statistics_R4N;  // f32, of all ranks
  TensorView targets_N;       // i32
  std::int64_t first = 0;     // index of the first of the N rows, among the B*T positions
  std::int64_t seq_len = 0;
};

// The values that differ from step to step. They are read from a tensor, f64 [kAdamwFactors], so that the device needs
// no values from the host between the gradients and the update, and a recorded step can be replayed.
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

// Prevents division by a zero norm, as the reference implementations do.
inline constexpr double kClipNormFloor = 1e-6;

// The most values that one quick read to the host returns: the size of its buffer in pinned memory.
inline constexpr std::size_t kQuicklyReadValues = 8;

// A tensor to update and its state: all of one shape, and f32 unless a comment gives another type.
struct AdamwTensor {
  TensorView weight;
  TensorView gradient;       // f32 or, in all tensors of a call, bf16
  TensorView first_moment;   // also f32 or, in all tensors, bf16
  TensorView second_moment;  // has the type of the first
  double weight_decay = 0;
  TensorView bf16_weight = {};  // optional: the new weight, rounded as copy() does
  // The draws by which moments are rounded to bf16: element i uses draws of first_index + i of the stream at `step`
  // (moment_draws).
  RngStream draws = {0, ""};
  std::int64_t first_index = 0;
};

// AdamW with decoupled weight decay, in place, on any number of tensors at once. g = gradient * gradient_scale; m = b1
// m + (1-b1) g; v = b2 v + (1-b2) g^2; weight -= learning_rate * (m/bias_correction1 / (sqrt(v/bias_correction2) + eps)
// + weight_decay * weight). The m and v used here are f32; if they are stored in bf16, they are rounded stochastically
// (stochastic_rounding.h). Loshchilov, Hutter, "Decoupled Weight Decay Regularization", 2019.
struct AdamwArgs {
  std::span<const AdamwTensor> tensors;
  TensorView factors;
  TensorView step = {};  // i32 [1], for moments in bf16
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
};

// out = x / (1 - rate) if the draw of (first_row + row, column) at `step` in the stream keeps it, else 0, whatever x is
// (engine/core/dropout_draws.h). out may be x. The same call computes the gradient.
struct DropoutArgs {
  TensorView out_RM;
  TensorView x_RM;
  TensorView step;  // i32 [1]: on the device, so that a recorded step can be replayed
  std::uint64_t seed = 0;
  std::string_view stream;
  std::int64_t first_row = 0;
  double rate = 0;  // in [0, 1)
};

// The operands of an operation, as far as its time depends on them beside their bytes.
struct OperandForm {
  DType dtype = DType::f32;    // of what it reads
  std::string_view kind = {};  // of products: which operands are transposed, "NT"; else of attention, norm, activation
  // Of products m, n, k; of attention B, T, H, K, D; of an embedding N, M, V; of rope N, heads*D, D; of other
  // operations on rows N and columns; else elements.
  std::array<std::int64_t, 5> dims{};

  bool operator<(const OperandForm& other) const {
    return std::tie(dtype, kind, dims) < std::tie(other.dtype, other.kind, other.dims);
  }
};

// The cost of a call, derived from its operands alone: each operand is read once or written once, wherever it lies.
// Repeated reads and scratch memory of kernels do not count. ops.cpp states the cost in each operation's function.
struct OperationCost {
  OperandForm form = {};
  std::int64_t flops = 0;  // of matrix products
  std::int64_t read_bytes = 0;
  std::int64_t written_bytes = 0;
};

// Key: operation, form of its operands, and bytes of a call.
using OperationTable = std::map<std::tuple<spec::TraceOp, OperandForm, std::int64_t>, spec::OperationWork>;

class Ops {
 public:
  virtual ~Ops() = default;

  void matmul(const MatmulArgs& args);
  // dbias[O] (+)= column sums of dy[N, O]; f32.
  void bias_backward(TensorView dbias, RowsView dy, Write write);
  void norm_forward(const NormForwardArgs& args);
  // Computes y (and x, with a residual) from given statistics, with the same bits as norm_forward.
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
  // see expert_operations.h
  void route_forward(const RouteForwardArgs& args);
  void route_backward(const RouteBackwardArgs& args);
  void dispatch(const DispatchArgs& args);
  void combine(const CombineArgs& args);
  void gates_backward(const GatesBackwardArgs& args);
  void expert_product(const ExpertProductArgs& args);
  void adamw(const AdamwArgs& args);
  // scale[1] = min(1, clip_norm / (sqrt(square_sum[1]) + kClipNormFloor)), f64: the factor that reduces the norm of a
  // gradient with that sum of squares to clip_norm. 1 if clip_norm is 0.
  void clip_scale(TensorView scale, TensorView square_sum, double clip_norm);

  // out = a + b, elementwise, in f32 and rounded once. All have one type, except that b may be f32; out may be a or b.
  void add(TensorView out, TensorView a, TensorView b);
  void dropout(const DropoutArgs& args);
  // out = parts[0] + parts[1] + ..., which lie one behind the other; in f32, in this order, rounded once. All have one
  // type.
  void sum_parts(TensorView out, TensorView parts);
  // The same shape; the same type or another one (round to nearest even).
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
  // Copies bytes between device and host memory, beside later operations: the copy begins after all earlier operations,
  // and work enqueued after wait() follows it.
  Pending transfer(TensorView out, TensorView in);
  void fill(TensorView out, double value);
  // out[i] = f32(mean + std * stream.normal(index(i))), where index(i) = first_index + j / run * stride + j % run with
  // j = skip + i: a part of a matrix consists of runs of neighbours at equal strides.
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
  // out[1] (+)= sum of the squares of all tensors, in f64: the same bits as adding the tensors' sums one after another.
  void sum_of_squares(TensorView out_f64, std::span<const TensorView> tensors, Write write);
  // Reads values to the host, and waits for them; few values are quicker. Gives zeros in a dry walk.
  void read_f64(std::span<double> to, TensorView values);
  double read_f64(TensorView scalar);
  // Copies from host memory; `from` holds out.bytes() bytes and may be null in a dry walk.
  void upload(TensorView out, const void* from);

  void set_pass(Pass pass) { pass_ = pass; }
  Pass pass() const { return pass_; }
  // Every operation becomes a span of `sink`; null: no spans.
  void set_trace(TraceSink* sink) { trace_ = sink; }
  // Adds the cost of every call to `table`; null: none. A replayed recording makes no calls.
  void set_table(OperationTable* table) { table_ = table; }
  // The counts since construction or the last reset.
  const spec::FlopCounts& flops() const { return flops_; }
  void reset_flops() { flops_ = {}; }
  // Adds the counts of operations that were not called one by one, in a replayed recording.
  void add_flops(const spec::FlopCounts& counts) { spec::add(flops_, counts); }

  // Recordings (engine/sharding/recorded_work.h): work enqueued between begin and end becomes one piece of work, which
  // runs at the end. `earlier` is null or a recording of the same work, which may be updated and returned. A backend
  // that computes at once has no recordings.
  virtual bool records() const { return false; }
  virtual void begin_recording() {}
  virtual std::unique_ptr<Recording> end_recording(std::unique_ptr<Recording> /*earlier*/) { return nullptr; }

  // Memory of workspace::bytes(run) bytes that operations may use until the next call; not every backend needs it.
  virtual void use_workspace(TensorView) {}

  // Blocks until everything enqueued has run; returns at once if the host computes.
  virtual void synchronize() {}

  // Whether `precision` is computed by conversion, because the chip has no units for it.
  virtual bool emulates(spec::Precision precision) const = 0;

  // Which kernels have computed flash attention so far, if there is a choice. A direction counts as `own` unless a
  // library computed every call.
  virtual std::vector<spec::AttentionKernel> attention_kernels() const { return {}; }

 protected:
#define PERFBENCH_DECLARE(name, arguments) virtual void do_##name arguments = 0;
  PERFBENCH_OPERATIONS(PERFBENCH_DECLARE)
#undef PERFBENCH_DECLARE
  // Returns nullptr if it is already done.
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
