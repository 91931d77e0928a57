#include "harness/plan/kept_weights.h"

#include "harness/system/run_id.h"

namespace perfbench::harness {
namespace {

using spec::Bf16Weights;

void take(Cell& cell, Bf16Weights weights) {
  cell.run.bf16_weights = weights;
  cell.run_id = run_id(cell.run);
}

}  // namespace

bool may_keep_bf16_weights(const Cell& cell) {
  const auto& run = cell.run;
  return cell.bf16_weights_open && run.device == spec::Device::cuda && run.trains() &&
         spec::computes_in_bf16(run.precision) && run.rounding == spec::Rounding::nearest;
}

void keep_bf16_weights(Cell& cell) {
  take(cell, Bf16Weights::kept);
}

void cast_bf16_weights(Cell& cell) {
  take(cell, Bf16Weights::cast);
}

}  // namespace perfbench::harness
