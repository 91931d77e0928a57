// Traces a context for a while.
#pragma once

#include "engine/sharding/context.h"

namespace perfbench::engine {

// During its lifetime, all work done with the context goes to `sink`.
class Tracing {
 public:
  Tracing(Context& context, TraceSink& sink, Recordings recordings) : context_(context) {
    context_.set_trace(&sink);
    context_.recordings = recordings;
  }
  ~Tracing() {
    context_.set_trace(nullptr);
    context_.recordings = Recordings::used;
  }
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;

 private:
  Context& context_;
};

}  // namespace perfbench::engine
