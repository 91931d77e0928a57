// Sums up the rows of an evaluation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "workloads/datasets/instruction_tokens.h"
#include "workloads/spec/run_summary.h"

namespace perfbench::engine {

// The score of one row, over its targets (engine/ops/ops.h, ScoreArgs).
struct RowScore {
  double log_likelihood = 0;
  std::int64_t targets = 0;
  std::int64_t missed = 0;
  std::optional<spec::Candidate> candidate = {};  // set if the data set is one of choices
};

// Without choices, a row is correct if it has targets and all are predicted. A question is correct if its right
// candidate is likelier, by the sum over its tokens, than each of the others; a NaN is never likelier. `rows` must be
// in their order.
spec::EvaluationResult evaluation_result(std::span<const RowScore> rows);

}  // namespace perfbench::engine
