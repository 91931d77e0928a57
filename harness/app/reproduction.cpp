#include "harness/app/reproduction.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "harness/compare/comparability.h"
#include "harness/metrics/run_metrics.h"
#include "harness/store/environment_rows.h"

namespace perfbench::harness {
namespace {

using StepPlace = std::pair<std::int64_t, std::int64_t>;  // step, rank

std::map<StepPlace, const spec::StepRecord*> by_place(const RunEvidence& evidence) {
  std::map<StepPlace, const spec::StepRecord*> out;
  for (const auto& record : evidence.steps) out[{record.step, record.rank}] = &record;
  return out;
}

// By bits, so that two NaN of one kind are equal.
bool same_bits(double left, double right) {
  return std::bit_cast<std::uint64_t>(left) == std::bit_cast<std::uint64_t>(right);
}

std::optional<NumberDifference> difference_of(const spec::StepRecord& recorded, const spec::StepRecord& repeated) {
  const auto at = [&](const char* number, double was, double is) {
    return NumberDifference{recorded.step, recorded.rank, number, was, is};
  };
  if (!same_bits(recorded.loss, repeated.loss)) return at("loss", recorded.loss, repeated.loss);
  if (!same_bits(recorded.grad_norm, repeated.grad_norm)) {
    return at("grad_norm", recorded.grad_norm, repeated.grad_norm);
  }
  const auto was = recorded.peak.total_bytes;
  const auto is = repeated.peak.total_bytes;
  if (was != is) return at("peak.total_bytes", static_cast<double>(was), static_cast<double>(is));
  return std::nullopt;
}

std::optional<NumberDifference> first_difference(const RunEvidence& recorded, const RunEvidence& repeated) {
  const auto others = by_place(repeated);
  for (const auto& [place, record] : by_place(recorded)) {
    const auto other = others.find(place);
    if (other == others.end()) continue;
    if (auto found = difference_of(*record, *other->second)) return found;
  }
  return std::nullopt;
}

std::map<std::string, std::string> facts_of(const RunEvidence& evidence) {
  if (!evidence.environment) return {};
  const auto facts = environment_rows(*evidence.environment).facts;
  return {facts.begin(), facts.end()};
}

std::optional<double> step_time_s(const RunEvidence& evidence) {
  for (const auto& [metric, value] : run_metrics(evidence.run, evidence.steps, evidence.summary)) {
    if (metric == "step_time_s") return value;
  }
  return std::nullopt;
}

}  // namespace

Reproduction hold_against(const RunEvidence& recorded, const RunEvidence& repeated) {
  return {.recorded_state = recorded.attempt.state,
          .repeated_state = repeated.attempt.state,
          .recorded_steps = std::ssize(recorded.steps),
          .repeated_steps = std::ssize(repeated.steps),
          .first_difference = first_difference(recorded, repeated),
          .environment = environment_difference(facts_of(recorded), facts_of(repeated)),
          .recorded_step_time_s = step_time_s(recorded),
          .repeated_step_time_s = step_time_s(repeated)};
}

}  // namespace perfbench::harness
