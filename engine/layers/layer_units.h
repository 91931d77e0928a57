// The units that a layer computes with and writes its gradients to: its own unit and, in a run that trains adapters,
// that of its adapters. In such a run its own unit is frozen.
#pragma once

#include <utility>

#include "engine/sharding/unit_gatherer.h"

namespace perfbench::engine {

class Fp8Scales;

struct LayerUnits {
  const UnitLayout& layer;
  const UnitLayout* adapters = nullptr;  // null without adapters
  float adapter_factor = 1.0F;           // scale of the adapters' products
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

// The last reader of gradients in the backward pass of a layer. It is usually the layer below. In the lowest layer of a
// model whose embedding is frozen and has nothing below that trains, it is the layer's own adapters, of attention or
// only of the feed-forward block. A gradient without a reader is not computed; all ranks along tp leave out the same
// ones.
enum class LastReader { below, attention, feed_forward };

struct LayerGradients {
  GradientTarget layer;
  GradientTarget adapters;
  LastReader last_reader = LastReader::below;
};

}  // namespace perfbench::engine
