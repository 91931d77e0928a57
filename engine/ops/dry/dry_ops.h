// Computes nothing: the public functions have already checked and counted.
#pragma once

#include <algorithm>
#include <memory>

#include "engine/ops/ops.h"

namespace perfbench::engine {

class DryOps : public Ops {
 public:
  bool emulates(spec::Precision) const override { return false; }

 protected:
#define PERFBENCH_LEAVE_OUT(name, arguments) \
  void do_##name arguments override {}
  PERFBENCH_OPERATIONS(PERFBENCH_LEAVE_OUT)
#undef PERFBENCH_LEAVE_OUT
  std::unique_ptr<Pending::State> do_transfer(TensorView, TensorView) override {
    return nullptr;
  }
  void do_read_f64(std::span<double> to, TensorView) override {
    std::fill(to.begin(), to.end(), 0.0);
  }
};

}  // namespace perfbench::engine
