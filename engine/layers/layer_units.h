// What a layer computes with and writes its gradients to: its own unit and, in a run that trains adapters beside it,
// theirs. Then its own is frozen.
#pragma once

#include <utility>

#include "engine/sharding/unit_gatherer.h"

namespace perfbench::engine {

struct LayerUnits {
  const UnitLayout& layer;
  const UnitLayout* adapters = nullptr;  // or none
  float adapter_factor = 1.0F;           // of what adapters add
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

struct LayerGradients {
  GradientTarget layer;
  GradientTarget adapters;
};

}  // namespace perfbench::engine
