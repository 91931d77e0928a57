#include "engine/train/pipeline_schedule.h"

#include <algorithm>
#include <string>

#include "engine/core/error.h"

namespace perfbench::engine {
namespace {

using Kind = PipelineAction::Kind;

// The k-th forward or backward computation of a stage. A group of microbatches, one for each stage, passes through its
// first chunk, then through its second; backward passes go through its last chunk first.
PipelineAction computation(const PipelineShape& shape, std::int64_t stage, Kind kind, std::int64_t k) {
  const std::int64_t round = shape.chunks();
  const std::int64_t in_round = k % round;
  std::int64_t own_chunk = in_round / shape.stages;
  if (kind == Kind::backward) own_chunk = shape.chunks_per_stage - 1 - own_chunk;
  return {.kind = kind,
          .chunk = own_chunk * shape.stages + stage,
          .microbatch = k / round * shape.stages + in_round % shape.stages};
}

// The number of forward computations before the first backward one.
std::int64_t warm_up(const PipelineShape& shape, std::int64_t stage, std::int64_t computations) {
  const std::int64_t behind = shape.stages - 1 - stage;
  const std::int64_t forwards =
      shape.chunks_per_stage == 1 ? behind : 2 * behind + (shape.chunks_per_stage - 1) * shape.stages;
  return std::min(forwards, computations);
}

std::vector<PipelineAction> computations_of(const PipelineShape& shape, std::int64_t stage, Passes passes) {
  const std::int64_t n = shape.microbatches * shape.chunks_per_stage;
  const std::int64_t ahead = warm_up(shape, stage, n);
  std::vector<PipelineAction> out;
  for (std::int64_t k = 0; k < n + ahead; ++k) {
    if (k < n) out.push_back(computation(shape, stage, Kind::forward, k));
    if (k >= ahead && passes == Passes::both) out.push_back(computation(shape, stage, Kind::backward, k - ahead));
  }
  return out;
}

void check(const PipelineShape& shape, std::int64_t stage) {
  const bool possible = shape.stages > 0 && shape.chunks_per_stage > 0 && shape.microbatches > 0 && stage >= 0 &&
                        stage < shape.stages && (shape.chunks_per_stage == 1 || shape.microbatches % shape.stages == 0);
  if (possible) return;
  throw LogicFault("no schedule for stage " + std::to_string(stage) + " of " + std::to_string(shape.stages) + " with " +
                   std::to_string(shape.chunks_per_stage) + " chunks each and " + std::to_string(shape.microbatches) +
                   " microbatches");
}

}  // namespace

double equal_stages_bubble(const PipelineShape& shape) {
  const auto others = static_cast<double>(shape.stages - 1);
  return others / (static_cast<double>(shape.chunks_per_stage * shape.microbatches) + others);
}

std::vector<PipelineAction> pipeline_actions(const PipelineShape& shape, std::int64_t stage, Passes passes) {
  check(shape, stage);
  const std::int64_t last = shape.chunks() - 1;
  const auto computations = computations_of(shape, stage, passes);
  std::vector<PipelineAction> out;
  const auto receive = [&](const PipelineAction& c) {
    if (c.kind == Kind::forward && c.chunk > 0) out.push_back({Kind::begin_receive_input, c.chunk, c.microbatch});
    if (c.kind == Kind::backward && c.chunk < last) {
      out.push_back({Kind::begin_receive_gradient, c.chunk, c.microbatch});
    }
  };
  receive(computations.front());
  for (std::size_t i = 0; i < computations.size(); ++i) {
    const auto& c = computations[i];
    if (i + 1 < computations.size()) receive(computations[i + 1]);
    out.push_back(c);
    if (c.kind == Kind::forward && c.chunk < last) out.push_back({Kind::send_output, c.chunk, c.microbatch});
    if (c.kind == Kind::backward && c.chunk > 0) out.push_back({Kind::send_gradient, c.chunk, c.microbatch});
  }
  return out;
}

}  // namespace perfbench::engine
