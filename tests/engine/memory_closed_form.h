// The most bytes that are alive at once on a rank of a pipeline stage, from the definitions alone: the purpose of every
// tensor and how long it is needed. This is an independent second count for tests of the dry walk: it calls no function
// of the engine, and states the policies, the slices and the schedule once more.
//
// It covers dense models on a CPU, fp32 or bf16; dp, fsdp, tp and pp (one chunk of layers a stage). It does not cover
// experts, adapters, dropout, packing, norms of heads, relative biases, one-hot embeddings, stochastic rounding and
// evaluation.
//
// Letters are those of engine/ops/ops.h, for one rank: B sequences of T tokens are a microbatch of N tokens; R of its
// rows are the rank's share of the residual stream; H query and K key heads of D; F the hidden width, V the vocabulary.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

class MemoryClosedForm {
 public:
  MemoryClosedForm(const spec::RunSpec& run, std::int64_t stage) : run_(run), m_(run.model), stage_(stage) {
    const auto& mesh = run.mesh;
    fsdp_ = mesh.fsdp();
    tp_ = mesh.tp();
    stages_ = mesh.pp();
    bf16_ = run.precision == spec::Precision::bf16;
    e_ = bf16_ ? 2 : 4;
    layers_ = m_.layers / stages_ + (stage < m_.layers % stages_ ? 1 : 0);
    overlaps_ = run.fsdp_prefetch > 0 && fsdp_ > 1;
    gated_ = m_.activation == spec::Activation::swiglu || m_.activation == spec::Activation::geglu;
    count_parameters();
    count_values();
  }

  // One forward, one backward: before the first backward pass, one microbatch for each later stage goes forward.
  std::int64_t peak() {
    most_ = 0;
    const std::int64_t microbatches = run_.grad_accum;
    const std::int64_t ahead = std::min(stages_ - 1 - stage_, microbatches);
    for (std::int64_t k = 0; k < microbatches + ahead; ++k) {
      if (k < microbatches) {
        // The input of the next computation is received during this one.
        const bool gradient_next = k >= ahead || k + 1 == microbatches;
        forward(k, gradient_next ? received_gradient() : received_input());
      }
      if (k >= ahead) {
        const bool input_next = k + 1 < microbatches;
        const bool any_next = k + 1 < microbatches + ahead;
        backward(k - ahead, input_next ? received_input() : any_next ? received_gradient() : 0);
      }
    }
    // If a tied embedding is at both ends of a pipeline, they exchange their gradients when all else is done.
    if (m_.tied_embedding && embeds() != has_head()) moment(4 * embedding_.shard);
    return persistent() + most_;
  }

 private:
  using Kind = spec::SavePlace;

  static std::int64_t up(std::int64_t value, std::int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
  }
  static std::int64_t share(std::int64_t value, std::int64_t ranks) { return up(value, ranks) / ranks; }

  // Weights that are gathered and reduced together, in elements: whole (of the slice along tp) and a rank's shard.
  struct Unit {
    std::int64_t whole = 0;
    std::int64_t shard = 0;
  };
  Unit unit(std::int64_t elements) const {
    const auto whole = up(elements, 16 * fsdp_);
    return {whole, whole / fsdp_};
  }

  void count_parameters() {
    const auto M = m_.d_model;
    const bool layernorm_bias = m_.norm == spec::NormKind::layernorm && m_.bias == spec::BiasKind::all;
    const std::int64_t norm = layernorm_bias ? 2 * M : M;
    const std::int64_t queries = m_.n_heads / tp_ * m_.head_dim;
    // With fewer key heads than ranks, every rank has all of their weights.
    const std::int64_t keys = (m_.n_kv_heads % tp_ == 0 ? m_.n_kv_heads / tp_ : m_.n_kv_heads) * m_.head_dim;
    const std::int64_t hidden = share(m_.d_ff, tp_);
    const std::int64_t inputs = gated_ ? 2 : 1;
    std::int64_t layer = 2 * norm + M * (2 * queries + 2 * keys) + M * hidden * (inputs + 1);
    if (m_.bias != spec::BiasKind::none) layer += queries + 2 * keys;
    if (m_.bias == spec::BiasKind::all) layer += M + inputs * hidden + M;
    layer_ = unit(layer);
    const std::int64_t vocabulary = share(m_.vocab_size, tp_) * M;
    embedding_ = unit(vocabulary + (m_.position.kind == spec::PositionKind::learned ? m_.max_seq_len * M : 0));
    head_ = unit(norm + (m_.tied_embedding ? 0 : vocabulary));
  }

  // The values of a layer that its backward pass reads, and where the policy puts them.
  struct Value {
    std::int64_t bytes = 0;
    Kind place = Kind::remat;

    std::int64_t kept() const { return place == Kind::device ? bytes : 0; }
    std::int64_t offloaded() const { return place == Kind::offload ? bytes : 0; }
    // After the forward pass that made it: offloaded values leave while the next layer computes.
    std::int64_t stays() const { return place == Kind::remat ? 0 : bytes; }
  };

  Kind place(const std::string& name) const {
    static const std::set<std::string> kAttention{"query_proj", "key_proj", "value_proj"};
    static const std::set<std::string> kDots{"query_proj", "key_proj", "value_proj", "out_proj"};
    static const std::set<std::string> kMlp{"mlpwi_0", "mlpwi_1"};
    const auto& policy = run_.remat;
    if (policy == "custom") {
      const auto found = run_.remat_custom.find(name);
      return found != run_.remat_custom.end() ? found->second : Kind::remat;
    }
    const bool is_attention = kAttention.contains(name);
    const bool is_dot = kDots.contains(name);
    const bool is_mlp = kMlp.contains(name);
    if (policy == "none") return Kind::device;
    if (policy == "qkv_proj_offloaded") return is_attention ? Kind::offload : Kind::remat;
    if (policy == "minimal_offloaded") return is_dot || is_mlp ? Kind::offload : Kind::remat;
    const std::map<std::string, bool> kept{
        {"full", false},
        {"minimal", is_dot || is_mlp},
        {"minimal_flash", is_dot || is_mlp || name == "context"},
        {"save_dot_with_context_except_mlp", is_dot || name == "context"},
        {"save_dot_except_mlpwi", is_dot},  // there is nothing to keep for mlpwo, which it keeps too
        {"save_dot_except_mlp", is_dot},
        {"save_qkv_proj", is_attention},
        {"save_out_proj", name == "out_proj"}};
    return kept.at(policy) ? Kind::device : Kind::remat;
  }

  void count_values() {
    B_ = run_.global_batch / (run_.mesh.dp() * fsdp_) / run_.grad_accum;
    N_ = B_ * run_.seq_len;
    const auto R = share(N_, tp_);
    const auto H = m_.n_heads / tp_;
    const auto K = std::max<std::int64_t>(m_.n_kv_heads / tp_, 1);
    const auto F = share(m_.d_ff, tp_);
    rows_ = R * m_.d_model * e_;
    all_rows_ = tp_ * rows_;
    const std::int64_t statistics = (m_.norm == spec::NormKind::layernorm ? 2 : 1) * R * 4;
    const auto pairs = B_ * H * run_.seq_len * run_.seq_len;
    statistics_ = {statistics, place("norm_statistics")};
    query_ = {N_ * H * m_.head_dim * e_, place("query_proj")};
    key_ = {N_ * K * m_.head_dim * e_, place("key_proj")};
    value_ = {N_ * K * m_.head_dim * e_, place("value_proj")};
    qkv_bytes_ = query_.bytes + key_.bytes + value_.bytes;
    context_ = {N_ * H * m_.head_dim * e_, place("context")};
    logsumexp_ = {N_ * H * 4, place("context")};
    weights_ = {run_.attention == spec::AttentionKind::dot_product ? pairs * e_ : 0, place("attention_weights")};
    sum_ = {rows_, place("out_proj")};
    gate_ = {N_ * F * e_, place("mlpwi_0")};  // the only one of an un-gated block
    up_ = {gated_ ? N_ * F * e_ : 0, place("mlpwi_1")};
    hidden_bytes_ = gate_.bytes + up_.bytes;
    product_ = N_ * F * e_;
    // An un-gated GELU is computed with the product that makes its input.
    fuses_ = m_.activation == spec::Activation::gelu_tanh;
    input_ = {rows_, run_.remat_custom.contains("layer_input") ? place("layer_input") : Kind::device};
    for (const auto& value :
         {input_, statistics_, statistics_, query_, key_, value_, context_, logsumexp_, weights_, sum_, gate_, up_}) {
      kept_ += value.kept();
      offloaded_ += value.offloaded();
    }
  }

  bool embeds() const { return stage_ == 0; }
  bool has_head() const { return stage_ + 1 == stages_; }
  std::int64_t received_input() const { return embeds() ? 0 : rows_; }
  std::int64_t received_gradient() const { return has_head() ? 0 : rows_; }

  // f32 weights, gradients and two moments, and bf16 weights kept beside them; tables; tokens and targets of the whole
  // step; the workspace of operations.
  std::int64_t persistent() const {
    std::int64_t elements = layers_ * layer_.shard;
    if (embeds() || (has_head() && m_.tied_embedding)) elements += embedding_.shard;
    if (has_head()) elements += head_.shard;
    const std::int64_t moments = run_.optimizer.moments == spec::StateType::bf16 ? 4 : 8;
    std::int64_t bytes = elements * (4 + (rounds_gradients() ? 2 : 4) + moments + (kept_bf16() ? 2 : 0));
    if (m_.position.kind == spec::PositionKind::rope) bytes += run_.seq_len * m_.head_dim * 4;
    if (embeds() || has_head()) bytes += 2 * run_.grad_accum * N_ * 4;
    return bytes + workspace();
  }

  bool kept_bf16() const { return bf16_ && run_.bf16_weights == spec::Bf16Weights::kept; }

  // Kernels of the cpu backend work in f32. A norm's backward pass first sums the parameters' gradients over blocks of
  // 32 rows. Products of bf16 convert both operands in panels: at most 1,024 rows (or columns), and at most 8 MiB
  // unless 64 of them are more. Their result is a tile of 1,024 by 1,024.
  std::int64_t workspace() const {
    const auto M = m_.d_model;
    const std::int64_t norm_forward = bf16_ ? 2 * M : 0;
    const std::int64_t norm_backward = share(share(N_, tp_), 32) * 2 * M + (bf16_ ? M : 0);
    std::int64_t most = std::max(norm_forward, norm_backward);
    if (!bf16_) return 4 * most;
    const auto panel = [](std::int64_t k, std::int64_t outer) {
      return std::min(std::min<std::int64_t>(outer, 1024) * k, std::max<std::int64_t>(2 << 20, 64 * k));
    };
    const auto product = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
      return panel(k, m) + panel(k, n) + std::min<std::int64_t>(m, 1024) * std::min<std::int64_t>(n, 1024);
    };
    const auto F = share(m_.d_ff, tp_);
    const auto queries = m_.n_heads / tp_ * m_.head_dim;
    // If joined, several projections are one product.
    const std::pair<std::int64_t, std::int64_t> products[] = {
        {N_, run_.fused_qkv ? qkv_bytes_ / N_ / e_ : queries},
        {N_, queries},
        {N_, gated_ && run_.fused_mlp ? 2 * F : F},
        {N_, F},
        {std::min(run_.loss_chunk_tokens, N_), share(m_.vocab_size, tp_)}};
    for (const auto& [rows, width] : products) {
      most = std::max({most, product(rows, width, M), product(rows, M, width), product(width, M, rows)});
    }
    return 4 * most;
  }

  // Whole weights in the type of products. During the gathering the shard in that type exists too.
  std::int64_t gathered(const Unit& of) const {
    if (fsdp_ == 1) return bf16_ && !kept_bf16() ? 2 * of.whole : 0;
    return e_ * of.whole;
  }
  std::int64_t under_way(const Unit& of) const {
    return gathered(of) + (fsdp_ > 1 && bf16_ && !kept_bf16() ? 2 * of.shard : 0);
  }
  std::int64_t gathered_head() const { return gathered(head_) + (m_.tied_embedding ? gathered(embedding_) : 0); }
  std::int64_t head_under_way() const { return under_way(head_) + (m_.tied_embedding ? under_way(embedding_) : 0); }
  bool rounds_gradients() const { return run_.optimizer.gradients == spec::StateType::bf16; }
  // f32, whole, for one microbatch; none if a rank keeps the whole gradient anyway in that form.
  std::int64_t gradient(const Unit& of) const { return fsdp_ == 1 && !rounds_gradients() ? 0 : 4 * of.whole; }
  enum class Contribution { first, later };
  // The input of the reduction: the gradient, or its rounded copy; and the reduced shard, if it is to be added to
  // earlier contributions.
  std::int64_t reduced(const Unit& of, Contribution which) const {
    if (fsdp_ == 1) return 0;
    return (rounds_gradients() ? 2 : 4) * (of.whole + (which == Contribution::later ? of.shard : 0));
  }
  // Memory at its completion: that of the reduction, which follows the rounding.
  std::int64_t completed(const Unit& of, Contribution which) const {
    const std::int64_t rounding = rounds_gradients() ? gradient(of) + (fsdp_ == 1 ? 0 : 2 * of.whole) : 0;
    return std::max(rounding, reduced(of, which));
  }
  // If the reduction overlaps, this memory stays while the next unit's gradients are computed.
  std::int64_t in_reduction(const Unit& of, Contribution which) const { return overlaps_ ? reduced(of, which) : 0; }

  void moment(std::int64_t bytes) { most_ = std::max(most_, bytes); }

  // The parts of sums that ranks along tp have, in a buffer of all rows; in two buffers for bf16, because these are
  // added in f32 where they arrive.
  std::int64_t parts() const { return tp_ == 1 ? 0 : (bf16_ ? 2 : 1) * all_rows_; }
  std::int64_t received_parts() const { return tp_ > 1 && bf16_ ? all_rows_ : 0; }

  // Memory beside any computation: other microbatches' values, reductions, the last message to each neighbour (the next
  // send waits for it), and the message received for the next computation.
  std::int64_t beside(std::int64_t other_states, std::int64_t receiving) const {
    return other_states * layers_ * kept_ + reducing_ + receiving + sent_onward_ + sent_back_;
  }

  void forward(std::int64_t k, std::int64_t receiving) {
    const std::int64_t base = beside(states_, receiving);
    if (embeds()) {
      const std::int64_t ahead = rows_ + (overlaps_ ? under_way(layer_) : 0);
      moment(base + ahead + under_way(embedding_));
      moment(base + ahead + gathered(embedding_) + parts());
    }
    for (std::int64_t i = 0; i < layers_; ++i) {
      std::int64_t ahead = 0;
      if (overlaps_) ahead = i + 1 < layers_ ? under_way(layer_) : has_head() ? head_under_way() : 0;
      layer_forward(base + i * kept_ + (i > 0 ? offloaded_ : 0) + gathered(layer_) + ahead);
    }
    ++states_;
    if (has_head()) {
      loss(k, base + layers_ * kept_);
    } else {
      sent_onward_ = rows_;
    }
  }

  void layer_forward(std::int64_t base) {
    const std::int64_t x = rows_;
    const std::int64_t in = x + statistics_.bytes;
    moment(base + in + all_rows_ + qkv_bytes_);
    moment(base + in + qkv_bytes_ + context_.bytes + logsumexp_.bytes + weights_.bytes);
    const std::int64_t stays =
        statistics_.stays() + query_.stays() + key_.stays() + value_.stays() + logsumexp_.stays() + weights_.stays();
    moment(base + x + stays + context_.bytes + rows_ + parts());
    // From here on the sum after attention exists, and x as long as it is kept: always.
    const std::int64_t half = base + x + stays + context_.stays() + sum_.bytes;
    moment(half + statistics_.bytes + all_rows_ + hidden_bytes_ + (fuses_ ? product_ : 0));
    moment(half + statistics_.stays() + hidden_bytes_ + product_);
    moment(half + statistics_.stays() + gate_.stays() + up_.stays() + product_ + rows_ + parts());
  }

  // In f32, logits have a separate gradient of the products' type.
  std::int64_t logits_bytes() const { return run_.logits == spec::LogitsType::fp32 ? 4 + e_ : e_; }

  // The gradient of the final norm's output replaces that output, one chunk of logits after another.
  void loss(std::int64_t k, std::int64_t base) {
    const auto V = share(m_.vocab_size, tp_);
    const auto C = std::min(run_.loss_chunk_tokens, N_);
    const auto which = k > 0 ? Contribution::later : Contribution::first;
    const bool tied = m_.tied_embedding;
    // The stream, the weights, and those of the last layer, whose backward pass is next.
    std::int64_t held = base + rows_ + gathered_head() + (overlaps_ ? gathered(layer_) : 0);
    const auto gradients = gradient(head_) + (tied ? gradient(embedding_) : 0);
    moment(held + gradients + all_rows_ + C * V * logits_bytes() + C * 4 + (tp_ > 1 ? 3 * C * 4 * (1 + tp_) : 0));
    moment(held + gradients + all_rows_ + std::max(received_parts(), rows_));
    held += rows_;  // the gradient of the stream
    if (tied) moment(held + gradient(head_) + completed(embedding_, which));
    reducing_ = tied ? in_reduction(embedding_, which) : 0;
    moment(held + reducing_ + completed(head_, which));
    reducing_ += in_reduction(head_, which);
  }

  void backward(std::int64_t j, std::int64_t receiving) {
    --states_;
    const auto which = j > 0 ? Contribution::later : Contribution::first;
    for (std::int64_t i = layers_ - 1; i >= 0; --i) {
      std::int64_t base = beside(states_, receiving) + i * kept_;
      if (i > 0) base += offloaded_ + (overlaps_ ? under_way(layer_) : 0);  // of the layer below, under way
      layer_backward(base + gathered(layer_) + gradient(layer_));
      moment(base + rows_ + completed(layer_, which));
      reducing_ = in_reduction(layer_, which);
    }
    if (embeds()) {
      embedding_backward(beside(states_, receiving) + rows_, which);
    } else {
      sent_back_ = rows_;
    }
  }

  void embedding_backward(std::int64_t base, Contribution which) {
    // The head has already contributed to the gradient of a tied embedding, if it is on this stage.
    if (m_.tied_embedding && has_head()) which = Contribution::later;
    moment(base + (tp_ > 1 ? all_rows_ : 0) + gradient(embedding_));
    moment(base + completed(embedding_, which));
    reducing_ = in_reduction(embedding_, which);
  }

  // dx, the gradient of the residual stream, stays in one buffer all the way down.
  void layer_backward(std::int64_t base) {
    const std::int64_t dx = rows_;
    const std::int64_t gathered_dx = tp_ > 1 ? all_rows_ : 0;
    const std::int64_t attention =
        rows_ + statistics_.bytes + qkv_bytes_ + context_.bytes + logsumexp_.bytes + weights_.bytes;
    const std::int64_t all = attention + sum_.bytes + statistics_.bytes + hidden_bytes_;
    const auto again = [](const Value& value) { return value.place == Kind::remat; };
    // Recomputed values: the projections from a norm, the sum, the hidden values from a norm.
    const std::int64_t feed_forward = sum_.stays() + statistics_.stays() + gate_.stays() + up_.stays();
    if (again(sum_)) moment(base + dx + attention + feed_forward + rows_ + parts());
    const bool hidden_again = again(gate_) || (gated_ && again(up_));
    const bool fused = fuses_ && hidden_again;
    if (hidden_again || again(statistics_)) moment(base + dx + all + all_rows_ + (fused ? product_ : 0));
    moment(base + dx + all + product_ + gathered_dx);
    moment(base + dx + all + all_rows_);
    moment(base + dx + all - hidden_bytes_ + all_rows_ + received_parts());
    // The feed-forward half is done; values of attention stay until that half is done.
    const std::int64_t dqkv = qkv_bytes_;
    const std::int64_t dcontext = context_.bytes;
    moment(base + dx + attention + dqkv + dcontext + gathered_dx);
    moment(base + dx + attention + dqkv + dcontext + weights_.bytes);
    moment(base + dx + attention + dqkv + all_rows_ + received_parts());
  }

  const spec::RunSpec& run_;
  const spec::ModelSpec& m_;
  std::int64_t stage_;
  std::int64_t stages_ = 1;
  std::int64_t fsdp_ = 1;
  std::int64_t tp_ = 1;
  bool bf16_ = false;
  std::int64_t e_ = 4;  // bytes of an element in products
  std::int64_t layers_ = 0;
  bool overlaps_ = false;
  bool gated_ = false;
  bool fuses_ = false;
  Unit layer_;
  Unit embedding_;
  Unit head_;
  std::int64_t B_ = 0;
  std::int64_t N_ = 0;
  std::int64_t rows_ = 0;      // bytes of a rank's rows of the residual stream
  std::int64_t all_rows_ = 0;  // the same for all ranks
  Value statistics_;           // of one norm
  Value input_;
  Value query_;
  Value key_;
  Value value_;
  std::int64_t qkv_bytes_ = 0;
  Value context_;
  Value logsumexp_;
  Value weights_;
  Value sum_;  // of the residual stream and attention
  Value gate_;
  Value up_;
  std::int64_t hidden_bytes_ = 0;
  std::int64_t product_ = 0;
  std::int64_t kept_ = 0;       // per layer and microbatch
  std::int64_t offloaded_ = 0;  // per layer and microbatch
  // These change during the step.
  std::int64_t states_ = 0;    // microbatches that have gone forward but not back
  std::int64_t reducing_ = 0;  // bytes of gradients under way
  std::int64_t sent_onward_ = 0;
  std::int64_t sent_back_ = 0;
  std::int64_t most_ = 0;
};

}  // namespace perfbench::engine
