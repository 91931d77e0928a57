#include "engine/train/evaluation_result.h"

#include <algorithm>
#include <cmath>

namespace perfbench::engine {
namespace {

bool is_right(std::span<const RowScore> candidates) {
  const auto right =
      std::find_if(candidates.begin(), candidates.end(), [](const RowScore& row) { return row.candidate->right; });
  if (right == candidates.end()) return false;
  return std::all_of(candidates.begin(), candidates.end(), [&](const RowScore& row) {
    return row.candidate->right || right->log_likelihood > row.log_likelihood;
  });
}

// The candidates of the question that the first row belongs to.
std::span<const RowScore> candidates_at(std::span<const RowScore> rows) {
  const auto question = rows.front().candidate->question;
  const auto end =
      std::find_if(rows.begin(), rows.end(), [&](const RowScore& row) { return row.candidate->question != question; });
  return rows.first(static_cast<std::size_t>(end - rows.begin()));
}

}  // namespace

spec::EvaluationResult evaluation_result(std::span<const RowScore> rows) {
  spec::EvaluationResult out{.rows = static_cast<std::int64_t>(rows.size())};
  if (rows.empty()) return out;
  std::int64_t right = 0;
  double log_likelihood = 0;
  for (const auto& row : rows) {
    if (row.candidate && !row.candidate->right) continue;
    log_likelihood += row.log_likelihood;
    out.tokens += row.targets;
    if (!row.candidate) right += row.targets > 0 && row.missed == 0 ? 1 : 0;
  }
  if (rows.front().candidate) {
    for (auto rest = rows; !rest.empty();) {
      const auto candidates = candidates_at(rest);
      right += is_right(candidates) ? 1 : 0;
      ++out.questions;
      rest = rest.subspan(candidates.size());
    }
  }
  out.nll_sum = -log_likelihood;
  out.perplexity = out.tokens > 0 ? std::exp(out.nll_sum / static_cast<double>(out.tokens)) : 0;
  out.accuracy = static_cast<double>(right) / static_cast<double>(out.questions > 0 ? out.questions : out.rows);
  return out;
}

}  // namespace perfbench::engine
