// The memory of a rank by purpose, and the tensors in it.
#pragma once

#include <cstdint>
#include <string>

#include "workloads/spec/fields.h"

namespace perfbench::spec {

// Bytes by purpose. Each scope has its peak at its own moment; `total` is the peak of the sum.
struct MemoryPeaks {
  std::int64_t weights_bytes = 0;
  std::int64_t gradients_bytes = 0;
  std::int64_t optimizer_bytes = 0;
  std::int64_t activations_bytes = 0;
  std::int64_t gathered_bytes = 0;  // weights and gradients of layers gathered by fsdp, and collective buffers
  std::int64_t workspace_bytes = 0;
  std::int64_t host_bytes = 0;  // offloaded; not part of total
  std::int64_t total_bytes = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"weights_bytes", "parameters"}, self.weights_bytes);
    f(Field{"gradients_bytes", "gradients"}, self.gradients_bytes);
    f(Field{"optimizer_bytes", "optimizer states"}, self.optimizer_bytes);
    f(Field{"activations_bytes", "values of the forward pass and their gradients"}, self.activations_bytes);
    f(Field{"gathered_bytes", "gathered weights and collective buffers"}, self.gathered_bytes);
    f(Field{"workspace_bytes", "scratch of operations"}, self.workspace_bytes);
    f(Field{"host_bytes", "offloaded to host memory"}, self.host_bytes);
    f(Field{"total_bytes", "peak of the sum, without host_bytes"}, self.total_bytes);
  }
};

struct LiveTensor {
  std::string name;   // "layers.3.mlpwi_0"
  std::string scope;  // weights, gradients, optimizer, activations, gathered, workspace, host
  std::string dtype;
  std::string shape;  // "[4096, 11008]"
  std::int64_t bytes = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"name", "name"}, self.name);
    f(Field{"scope", "what it is for"}, self.scope);
    f(Field{"dtype", "element type"}, self.dtype);
    f(Field{"shape", "local shape"}, self.shape);
    f(Field{"bytes", "allocated bytes", 0}, self.bytes);
  }
};

}  // namespace perfbench::spec
