// Dropout of a run that trains: the probability with which an element becomes 0. Other elements are divided by the
// probability of staying, so that the expected value does not change (Srivastava et al., "Dropout: A Simple Way to
// Prevent Neural Networks from Overfitting", JMLR 15, 2014, scaled while training). Attention probabilities have no
// dropout: flash attention never holds them.
#pragma once

#include "workloads/spec/fields.h"

namespace perfbench::spec {

struct DropoutSpec {
  double input = 0;        // on the residual stream, after the embeddings
  double layer_input = 0;  // on the residual stream, before each layer
  double residual = 0;     // on what each attention and each feed-forward block adds to the residual stream

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
