// Where the memory of a step goes, as a dry walk reports it beside the amounts (memory_record.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "workloads/spec/fields.h"
#include "workloads/spec/run_kinds.h"

namespace perfbench::spec {

// When the sum of what is alive was first as large as it gets.
struct PeakMoment {
  std::string phase;   // a TracePhase of the step; "setup" before it, "evaluation" after it
  std::string range;   // the part of the model at work, outermost first: "layers.3 recompute"
  std::string tensor;  // that took the last bytes

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
  std::string shape;  // of one
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

// Of the line that a step's memory makes.
struct MemorySample {
  std::int64_t at = 0;  // beginnings and ends of spans before it
  std::string phase;    // as PeakMoment
  std::string range;
  std::int64_t bytes = 0;  // alive then, the host's apart

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"at", "beginnings and ends of spans before it", 0}, self.at);
    f(Field{"phase", "phase of the step"}, self.phase);
    f(Field{"range", "part of the model at work"}, self.range);
    f(Field{"bytes", "alive then", 0}, self.bytes);
  }
};

// Behind the name of an offloaded value: its copy in host memory, and what comes back of that.
inline constexpr std::string_view kOnHost = ".host";
inline constexpr std::string_view kFetched = ".fetched";

// A value of a layer that its backward pass reads, and what the policy does with it in between (remat_policy.h). Of the
// same name in all layers of a rank.
struct Intermediate {
  std::string value;   // by the policies' name; of several in one buffer "query_proj+key_proj+value_proj"
  std::string tensor;  // its name behind that of its layer: "qkv_proj"
  SavePlace place = SavePlace::device;
  std::int64_t bytes = 0;  // as allocated, of one layer and microbatch
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
