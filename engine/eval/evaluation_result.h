// What the rows of an evaluation add up to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "workloads/datasets/instruction_tokens.h"
#include "workloads/spec/run_summary.h"

namespace perfbench::engine {

// Of one row, over its targets (engine/ops/ops.h, ScoreArgs).
struct RowScore {
  double log_likelihood = 0;
  std::int64_t targets = 0;
  std::int64_t missed = 0;
  std::optional<spec::Candidate> candidate = {};  // where the data set is one of choices
};

// Without choices a row is right that has targets and misses none of them. A question is right whose right candidate is
// likelier, by the sum over its tokens, than each of the others; a NaN is likelier than nothing. Rows in their order.
spec::EvaluationResult evaluation_result(std::span<const RowScore> rows);

}  // namespace perfbench::engine
