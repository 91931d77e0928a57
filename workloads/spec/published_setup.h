// The part of a published row that its table does not print and the step-time predictor (harness/predict) needs: how
// the program divided, recomputed and overlapped its work. The values come from scripts, documents and sources of the
// program. A value that none of them states is assumed, and `unknown` says so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/spec/fields.h"

namespace perfbench::spec {

// The place of the row in the scores. An earlier row is an older version of a reference table.
enum class RowRole { external, reference, earlier };
template <>
struct EnumNames<RowRole> {
  static constexpr std::array kNames{std::pair{RowRole::external, "external"},
                                     std::pair{RowRole::reference, "reference"},
                                     std::pair{RowRole::earlier, "earlier"}};
};

// The tensors that data-parallel ranks divide. full_shard gathers the weights again for the backward pass,
// shard_grad_op keeps them; zero1 divides the optimizer alone; ddp divides nothing.
enum class ShardingKind { full_shard, shard_grad_op, zero1, ddp };
template <>
struct EnumNames<ShardingKind> {
  static constexpr std::array kNames{std::pair{ShardingKind::full_shard, "full_shard"},
                                     std::pair{ShardingKind::shard_grad_op, "shard_grad_op"},
                                     std::pair{ShardingKind::zero1, "zero1"}, std::pair{ShardingKind::ddp, "ddp"}};
};

// The work that the backward pass repeats.
//   full                  the whole block
//   dots                  everything except products of weights
//   keep_projections      everything except query, key, value, gate and up
//   minimal_flash         a part of the memory-bound kernels
//   core_attention        scores, softmax and their product with the values
//   every_second_product  torchtitan's selection by operator: key, out and half of up
//   every_second_layer    half of the blocks
//   some_layers           two fifths of the blocks
//   feed_forward          the up projection and its activation
enum class Recomputation {
  none,
  full,
  dots,
  keep_projections,
  minimal_flash,
  core_attention,
  every_second_product,
  every_second_layer,
  some_layers,
  feed_forward
};
template <>
struct EnumNames<Recomputation> {
  using R = Recomputation;
  static constexpr std::array kNames{std::pair{R::none, "none"},
                                     std::pair{R::full, "full"},
                                     std::pair{R::dots, "dots"},
                                     std::pair{R::keep_projections, "keep_projections"},
                                     std::pair{R::minimal_flash, "minimal_flash"},
                                     std::pair{R::core_attention, "core_attention"},
                                     std::pair{R::every_second_product, "every_second_product"},
                                     std::pair{R::every_second_layer, "every_second_layer"},
                                     std::pair{R::some_layers, "some_layers"},
                                     std::pair{R::feed_forward, "feed_forward"}};
};

// 0 or empty: taken from the row, or the default of the comment.
struct PublishedSetup {
  std::string stack;    // file of workloads/predictor/stacks; empty: the row cannot be predicted
  std::string family;   // rows that are fitted together; empty: the system
  std::string release;  // sets apart a version of the software with constants of its own
  std::string device;   // of workloads/predictor/rates.yaml; empty: the hardware of the row
  RowRole role = RowRole::external;
  std::string model;              // file of workloads/models: the shape of the program's script for this size
  std::int64_t seq_len = 0;       // of that script
  std::string stated_definition;  // FLOP definition of the stated figures
  std::int64_t tp = 0;
  std::int64_t pp = 0;
  std::int64_t replicas = 1;  // copies of the weights that full_shard and shard_grad_op keep (hybrid sharding)
  std::int64_t cp = 1;
  std::int64_t interleaving = 1;  // chunks of layers of one pipeline stage
  double microbatch = 0;          // sequences of one data-parallel replica; 0: batch_per_device, else one step's batch
  ShardingKind sharding = ShardingKind::full_shard;
  bool sequence_parallel = true;
  double tp_overlap_fraction = 0;  // of tensor-parallel communication, hidden by the program
  bool scan = false;               // the layers are one scanned loop; also if the row says so
  std::string attention_kernel;    // of an architecture in rates.yaml, or of the stack's materialised attention
  Recomputation recompute = Recomputation::none;
  bool recomputes_last_product = false;  // of a block, whose value nothing uses
  double gradient_bytes = 0;             // of one reduced gradient; 0: of the stack
  double node_network_bytes_per_s = 0;   // 0: of the device's usual node
  std::int64_t padded_vocab = 0;         // 0: the model's
  std::vector<std::string> unknown;      // facts that had to be assumed: the row is under-specified
  std::string unpredictable;             // why the row cannot be predicted in spite of its value

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"stack", "file of workloads/predictor/stacks"}, self.stack);
    f(Field{"family", "rows that are fitted together"}, self.family);
    f(Field{"release", "version of the software with constants of its own"}, self.release);
    f(Field{"device", "device of workloads/predictor/rates.yaml"}, self.device);
    f(Field{"role", "external, reference or earlier"}, self.role);
    f(Field{"model", "file of workloads/models, from a script of this size"}, self.model);
    f(Field{"seq_len", "tokens of a sequence, from a script of this size", 0, 1e8}, self.seq_len);
    f(Field{"stated_definition", "FLOP definition of the stated figures"}, self.stated_definition);
    f(Field{"tp", "tensor parallel", 0, 1e6}, self.tp);
    f(Field{"pp", "pipeline parallel", 0, 1e6}, self.pp);
    f(Field{"replicas", "copies of the sharded weights", 1, 1e6}, self.replicas);
    f(Field{"cp", "context parallel", 1, 1e6}, self.cp);
    f(Field{"interleaving", "chunks of layers of one pipeline stage", 1, 1e4}, self.interleaving);
    f(Field{"microbatch", "sequences of a microbatch of one replica", 0, 1e7}, self.microbatch);
    f(Field{"sharding", "full_shard, shard_grad_op, zero1 or ddp"}, self.sharding);
    f(Field{"sequence_parallel", "tp divides the norms too"}, self.sequence_parallel);
    f(Field{"tp_overlap_fraction", "hidden part of tensor-parallel communication", 0, 1}, self.tp_overlap_fraction);
    f(Field{"scan", "the layers are one scanned loop"}, self.scan);
    f(Field{"attention_kernel", "attention kernel, or kind of materialised attention"}, self.attention_kernel);
    f(Field{"recompute", "what the backward pass computes again"}, self.recompute);
    f(Field{"recomputes_last_product", "recompute full: also the last product"}, self.recomputes_last_product);
    f(Field{"gradient_bytes", "bytes of one reduced gradient", 0, 8}, self.gradient_bytes);
    f(Field{"node_network_bytes_per_s", "network of a node", 0, 1e15}, self.node_network_bytes_per_s);
    f(Field{"padded_vocab", "rows of the padded embedding", 0, 1e8}, self.padded_vocab);
    f(Field{"unknown", "facts that had to be assumed"}, self.unknown);
    f(Field{"unpredictable", "why the row cannot be predicted"}, self.unpredictable);
  }
};

}  // namespace perfbench::spec
