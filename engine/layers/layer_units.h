// What a layer computes with and writes its gradients to: its own unit and, in a run that trains adapters beside it,
// theirs. Then its own is frozen.
#pragma once

#include <utility>

#include "engine/sharding/unit_gatherer.h"

namespace perfbench::engine {

class Fp8Scales;

struct LayerUnits {
  const UnitLayout& layer;
  const UnitLayout* adapters = nullptr;  // or none
  float adapter_factor = 1.0F;           // of what adapters add
  const Fp8Scales* fp8 = nullptr;        // in precision fp8
};

struct LayerWeights {
  bool submitted() const { return layer.submitted(); }
  void wait(PhaseClock& clock) {
    layer.wait(clock);
    if (adapters.submitted()) adapters.wait(clock);
  }

  GatheredUnit layer;
  GatheredUnit adapters;
};

// Who is the last to read gradients on the way back through a layer: what lies below it, or, in the lowest layer of a
// model above whose frozen embedding nothing trains, its own adapters, of attention or of the feed-forward block alone.
// What nobody reads is not computed, and what a rank along tp leaves out, all of them do.
enum class LastReader { below, attention, feed_forward };

struct LayerGradients {
  GradientTarget layer;
  GradientTarget adapters;
  LastReader last_reader = LastReader::below;
};

}  // namespace perfbench::engine
