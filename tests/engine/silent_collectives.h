// Collectives that communicate nothing and are done at once.
#pragma once

#include <memory>

#include "engine/parallel/collectives.h"

namespace perfbench::engine {

class SilentCollectives : public Collectives {
 protected:
  using Collectives::Collectives;
  using State = std::unique_ptr<Pending::State>;

  State do_all_gather(const Channel&, TensorView, TensorView) override { return nullptr; }
  State do_reduce_scatter(const Channel&, TensorView, TensorView) override { return nullptr; }
  State do_all_to_all(const Channel&, TensorView, TensorView) override { return nullptr; }
  State do_all_reduce(const Channel&, TensorView) override { return nullptr; }
  State do_all_reduce_max(const Channel&, TensorView) override { return nullptr; }
  State do_send(Axis, Heading, TensorView) override { return nullptr; }
  State do_receive(Axis, Heading, TensorView) override { return nullptr; }
  State do_copy(TensorView, TensorView) override { return nullptr; }
};

}  // namespace perfbench::engine
