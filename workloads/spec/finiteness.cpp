#include "workloads/spec/finiteness.h"

#include <cmath>

namespace perfbench::spec {

void Finiteness::look_at(const StepRecord& record) {
  keep_first(loss_, record.step, record.loss);
  keep_first(grad_norm_, record.step, record.grad_norm);
}

void Finiteness::keep_first(std::optional<Lost>& first, std::int64_t step, double value) {
  if (std::isfinite(value) || (first && first->step <= step)) return;
  first = {.step = step, .value = value};
}

std::string Finiteness::text() const {
  std::string out;
  const auto say = [&out](const char* what, const std::optional<Lost>& lost) {
    if (!lost) return;
    out += (out.empty() ? "" : "; ") + std::string(what) + " became " + (std::isnan(lost->value) ? "NaN" : "infinite") +
           " at step " + std::to_string(lost->step);
  };
  say("the loss", loss_);
  say("the gradient norm", grad_norm_);
  return out;
}

}  // namespace perfbench::spec
