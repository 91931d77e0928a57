// The work and traffic of a step: FLOPs by part, bytes sent by mesh axis, and the kernels of its attention.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "workloads/spec/fields.h"

namespace perfbench::spec {

// FLOPs of one step on one rank, by part, as executed by the schedule. A causal attention counts half the score square.
struct FlopCounts {
  std::int64_t attention_projection_flops = 0;
  std::int64_t attention_score_flops = 0;
  std::int64_t feed_forward_flops = 0;
  std::int64_t unembedding_flops = 0;
  std::int64_t rematerialised_flops = 0;  // recomputed; not included in the parts above
  // of products that could be a lookup (EmbeddingKind); not part of the model's FLOPs
  std::int64_t embedding_flops = 0;

  constexpr std::int64_t model_flops() const {
    return attention_projection_flops + attention_score_flops + feed_forward_flops + unembedding_flops;
  }
  constexpr std::int64_t executed_flops() const { return model_flops() + rematerialised_flops + embedding_flops; }

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"attention_projection_flops", "query, key, value and output projections"}, self.attention_projection_flops);
    f(Field{"attention_score_flops", "scores and weighted values"}, self.attention_score_flops);
    f(Field{"feed_forward_flops", "feed-forward products"}, self.feed_forward_flops);
    f(Field{"unembedding_flops", "logits"}, self.unembedding_flops);
    f(Field{"rematerialised_flops", "computed again for the backward pass"}, self.rematerialised_flops);
    f(Field{"embedding_flops", "an embedding's products with one-hot rows"}.omitted_at_default(), self.embedding_flops);
  }
};

inline void add(FlopCounts& to, const FlopCounts& counts) {
  std::vector<std::int64_t> added;
  FlopCounts::fields(counts, [&](const Field&, std::int64_t count) { added.push_back(count); });
  auto next = added.begin();
  FlopCounts::fields(to, [&](const Field&, std::int64_t& count) { count += *next++; });
}

// The traffic of one step on one rank, by axes and level, named as in a matrix ("fsdp", "dcn_dp", "dp+fsdp"), and by
// collective.
struct AxisTraffic {
  std::string axis;
  std::string collective;  // all_gather, reduce_scatter, all_to_all, all_reduce; send, receive
  std::int64_t messages = 0;
  std::int64_t payload_bytes = 0;  // size of the full (gathered, or to be reduced) buffers
  std::int64_t sent_bytes = 0;     // what a ring sends from this rank: (n-1)/n of payload, twice for all_reduce
  // The time that the host waits: also for earlier submissions and for ranks that come later; in a receive, for another
  // stage to compute. 0 in a plan, and on a GPU, where streams wait and not the host.
  std::int64_t exposed_ns = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"axis", "mesh axes of one level, as \"fsdp\", \"dcn_dp\", \"dp+fsdp\""}, self.axis);
    f(Field{"collective", "kind of collective"}, self.collective);
    f(Field{"messages", "collectives issued", 0}, self.messages);
    f(Field{"payload_bytes", "bytes of the full buffers", 0}, self.payload_bytes);
    f(Field{"sent_bytes", "bytes a ring sends from one rank", 0}, self.sent_bytes);
    f(Field{"exposed_ns", "the host's waiting, where it waits", 0}.omitted_at_default(), self.exposed_ns);
  }
};

enum class AttentionDirection { forward, backward };
template <>
struct EnumNames<AttentionDirection> {
  static constexpr std::array kNames{std::pair{AttentionDirection::forward, "forward"},
                                     std::pair{AttentionDirection::backward, "backward"}};
};

// The owner of the kernels.
enum class ComputedBy { cudnn, own };
template <>
struct EnumNames<ComputedBy> {
  static constexpr std::array kNames{std::pair{ComputedBy::cudnn, "cudnn"}, std::pair{ComputedBy::own, "own"}};
};

// The kernels that computed flash attention on a GPU, in one direction.
struct AttentionKernel {
  AttentionDirection direction = AttentionDirection::forward;
  ComputedBy computed_by = ComputedBy::own;
  std::string reason;  // why not cuDNN; empty if it did

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"direction", "forward or backward"}, self.direction);
    f(Field{"computed_by", "cudnn or own"}, self.computed_by);
    f(Field{"reason", "why not cuDNN"}, self.reason);
  }
};

}  // namespace perfbench::spec
