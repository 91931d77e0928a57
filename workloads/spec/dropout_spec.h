// Dropout of a run that trains: how likely it is that an element becomes 0. The others are divided by how likely they
// are to stay, so that the expected value stays (Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks
// from Overfitting", JMLR 15, 2014, scaled while training). Probabilities of attention have none: flash attention never
// holds them.
#pragma once

#include "workloads/spec/fields.h"

namespace perfbench::spec {

struct DropoutSpec {
  double input = 0;        // of the residual stream that the embeddings begin
  double layer_input = 0;  // of the residual stream before each layer, again and again
  double residual = 0;     // of what each attention and each feed-forward block adds to it

  constexpr bool used() const { return input > 0 || layer_input > 0 || residual > 0; }
  constexpr bool operator==(const DropoutSpec&) const = default;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"input", "share of the summed embeddings' elements that become 0, below 1", 0.0, 1.0}, self.input);
    f(Field{"layer_input", "share of the residual stream's elements that become 0 before each layer, below 1", 0.0,
            1.0},
      self.layer_input);
    f(Field{"residual", "share of 0 in what each block adds to the residual stream, below 1", 0.0, 1.0}, self.residual);
  }
};

}  // namespace perfbench::spec
