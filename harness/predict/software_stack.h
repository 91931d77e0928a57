// The work of a software stack besides the products of a step: passes over memory, copies, overlap. The figures are
// counts from the stack's sources, one file of workloads/predictor/stacks each, and never fitted.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "workloads/spec/fields.h"
#include "workloads/spec/published_setup.h"

namespace perfbench::predict {

// Elements that the memory-bound kernels of a layer move for each token: multiples of the width and of the hidden
// width of the feed-forward block.
struct MovedElements {
  double width = 0;
  double ffn = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"width", "multiples of d_model", 0, 1e3, spec::Presence::required}, self.width);
    f(Field{"ffn", "multiples of d_ff", 0, 1e3, spec::Presence::required}, self.ffn);
  }
};

struct SoftwareStack {
  std::string name;
  std::string title;
  MovedElements forward_elements;
  MovedElements backward_elements;
  double head_bytes = 0;        // moved for a logit, besides products
  double optimizer_bytes = 0;   // moved for a local parameter
  double overlap_fraction = 0;  // of a layer's computation that can hide communication
  double exposed_fraction = 0;  // of a collective that the program cannot overlap
  double gradient_bytes = 0;    // of a reduced gradient
  double copy_bytes = 0;        // copied or cast for a gathered parameter
  bool eager = false;           // the host launches each operator
  bool head_tf32 = false;       // the backward products of the logits take f32 operands
  double host_s = 0.002;        // of the host between two steps
  // For cells of a matrix; a published row says these itself (workloads/spec/published_setup.h).
  std::string flash_kernel;  // of rates.yaml, for attention: flash; empty: it has none
  std::string dot_product_kernel;
  spec::ShardingKind data_parallel = spec::ShardingKind::ddp;  // of replicas, if weights are not sharded
  double tp_overlap_fraction = 0;                              // of tensor parallel communication, hidden
  bool recomputes_last_product = false;                        // of a block, whose value nothing uses
  std::vector<std::string> source;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    constexpr auto kRequired = spec::Presence::required;
    f(Field{.name = "name", .help = "name of the file", .presence = kRequired}, self.name);
    f(Field{.name = "title", .help = "full name", .presence = kRequired}, self.title);
    f(Field{.name = "forward_elements", .help = "moved for a token", .presence = kRequired}, self.forward_elements);
    f(Field{.name = "backward_elements", .help = "moved for a token", .presence = kRequired}, self.backward_elements);
    f(Field{"head_bytes", "moved for a logit", 0, 1e3, kRequired}, self.head_bytes);
    f(Field{"optimizer_bytes", "moved for a local parameter", 0, 1e3, kRequired}, self.optimizer_bytes);
    f(Field{"overlap_fraction", "of computation that can hide communication", 0, 1, kRequired}, self.overlap_fraction);
    f(Field{"exposed_fraction", "of communication that is never hidden", 0, 1}, self.exposed_fraction);
    f(Field{"gradient_bytes", "of a reduced gradient", 1, 8, kRequired}, self.gradient_bytes);
    f(Field{"copy_bytes", "copied for a gathered parameter", 0, 1e3, kRequired}, self.copy_bytes);
    f(Field{"eager", "the host launches each operator"}, self.eager);
    f(Field{"head_tf32", "gradients of logits are f32"}, self.head_tf32);
    f(Field{"host_s", "of the host between two steps", 0, 10}, self.host_s);
    f(Field{"flash_kernel", "kernel of attention: flash"}, self.flash_kernel);
    f(Field{"dot_product_kernel", "kernel of attention: dot_product"}, self.dot_product_kernel);
    f(Field{"data_parallel", "ddp or zero1, if weights are not sharded"}, self.data_parallel);
    f(Field{"tp_overlap_fraction", "hidden part of tensor parallel communication", 0, 1}, self.tp_overlap_fraction);
    f(Field{"recomputes_last_product", "remat: full repeats the last product, too"}, self.recomputes_last_product);
    f(Field{.name = "source", .help = "where the counts come from", .presence = kRequired}, self.source);
  }
};

// The stacks of workloads/predictor/stacks by name. Throws InputError with the place for a broken file, or one whose
// name is not that of its stack.
std::map<std::string, SoftwareStack> load_stacks(const std::filesystem::path& data_dir);

}  // namespace perfbench::predict
