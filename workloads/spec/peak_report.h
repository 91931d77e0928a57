// When and where a step's memory peaks, which a dry walk reports beside the amounts (memory_record.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "workloads/spec/fields.h"
#include "workloads/spec/run_kinds.h"

namespace perfbench::spec {

// The first moment at which the sum of live tensors reaches its maximum.
struct PeakMoment {
  std::string phase;   // a TracePhase of the step; "setup" before it, "evaluation" after it
  std::string range;   // the part of the model at work, outermost first: "layers.3 recompute"
  std::string tensor;  // the tensor whose allocation reached it

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"phase", "phase of the step, setup or evaluation"}, self.phase);
    f(Field{"range", "part of the model at work"}, self.range);
    f(Field{"tensor", "tensor that took the last bytes"}, self.tensor);
  }
};

// Tensors of one kind alive at the peak, over all layers: "layers.*.mlpwi_0".
struct TensorGroup {
  std::string name;
  std::string scope;
  std::string dtype;
  std::string shape;  // of one tensor
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"name", "name, * for numbers"}, self.name);
    f(Field{"scope", "what they are for"}, self.scope);
    f(Field{"dtype", "element type"}, self.dtype);
    f(Field{"shape", "local shape of one"}, self.shape);
    f(Field{"tensors", "how many", 0}, self.tensors);
    f(Field{"bytes", "allocated bytes of all", 0}, self.bytes);
  }
};

// A point of the curve of a step's memory.
struct MemorySample {
  std::int64_t at = 0;  // number of beginnings and ends of spans before it
  std::string phase;    // as in PeakMoment
  std::string range;
  std::int64_t bytes = 0;  // alive then, without those on the host

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"at", "beginnings and ends of spans before it", 0}, self.at);
    f(Field{"phase", "phase of the step"}, self.phase);
    f(Field{"range", "part of the model at work"}, self.range);
    f(Field{"bytes", "alive then", 0}, self.bytes);
  }
};

// Follows the name of an offloaded value: for its copy in host memory, and for what is brought back from it.
inline constexpr std::string_view kOnHost = ".host";
inline constexpr std::string_view kFetched = ".fetched";

// A value of a layer that its backward pass reads, and where the policy keeps it in between (remat_policy.h). It has
// the same name in all layers of a rank.
struct Intermediate {
  std::string value;   // the policies' name; for several in one buffer "query_proj+key_proj+value_proj"
  std::string tensor;  // its name without that of its layer: "qkv_proj"
  SavePlace place = SavePlace::device;
  std::int64_t bytes = 0;  // as allocated, for one layer and microbatch
  std::int64_t times = 0;  // in a step: layers of the rank that have it, times microbatches

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"value", "the policies' name"}, self.value);
    f(Field{"tensor", "name behind the layer's"}, self.tensor);
    f(Field{"place", "device, remat or offload"}, self.place);
    f(Field{"bytes", "allocated bytes of one layer and microbatch", 0}, self.bytes);
    f(Field{"times", "how many a step has", 0}, self.times);
  }
};

}  // namespace perfbench::spec
