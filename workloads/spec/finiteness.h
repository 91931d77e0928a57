// Whether the numbers that a run computed stayed finite: this tells a run that diverged from one that trained.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "workloads/spec/step_record.h"

namespace perfbench::spec {

// A loss that is NaN or infinite in any recorded step makes the run diverged: later steps trained no model. A gradient
// norm that is not finite does not suffice. It is reported and the run is kept, because its steps did the work that is
// timed. If the norm was lost because the weights are, the loss of the next step is lost as well.
class Finiteness {
 public:
  // Records may come in any order and from any ranks.
  void look_at(const StepRecord& record);

  bool diverged() const { return loss_.has_value(); }
  // "the loss became infinite at step 3; the gradient norm became NaN at step 2", each the first such step (counted
  // from 0, as in the records); empty if all are finite. Older engines wrote null for either, which reads as NaN.
  std::string text() const;

 private:
  struct Lost {
    std::int64_t step = 0;
    double value = 0;
  };
  static void keep_first(std::optional<Lost>& first, std::int64_t step, double value);

  std::optional<Lost> loss_;
  std::optional<Lost> grad_norm_;
};

}  // namespace perfbench::spec
