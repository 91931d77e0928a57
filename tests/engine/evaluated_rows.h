// Synthetic documents in order, as the rows of an evaluation.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "engine/data/document_row.h"
#include "engine/data/run_data.h"
#include "engine/data/synthetic_documents.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

class EvaluatedRows final : public EvaluationSource {
 public:
  // Each question has `candidates` rows, the first of which is right; 0: it is not a data set of choices.
  EvaluatedRows(const spec::RunSpec& run, std::int64_t rows, std::int64_t candidates = 0)
      : run_(run),
        documents_(make_synthetic_documents(run, drawn_documents(run))),
        rows_(rows),
        candidates_(candidates) {}

  TokenCounts read(const BatchPlace& place, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) override {
    documents_->read(place, tokens, targets);
    const auto length = static_cast<std::size_t>(run_.seq_len);
    TokenCounts counts;
    for (std::int64_t b = 0; b < run_.microbatch(); ++b) {
      const std::int64_t row = first_sequence(run_, place) + b;
      const auto at = static_cast<std::size_t>(b) * length;
      const auto of_row = targets.subspan(at, length);
      if (row >= rows_) fill_row({}, tokens.subspan(at, length), of_row);
      counts.targets += std::count_if(of_row.begin(), of_row.end(), [](std::int32_t t) { return t != kNoTarget; });
      counts.padding += row >= rows_ ? run_.seq_len : padding_of(row);
    }
    return counts;
  }
  std::int64_t rows() const override { return rows_; }
  std::optional<spec::Candidate> candidate(std::int64_t row) const override {
    if (candidates_ == 0) return std::nullopt;
    return spec::Candidate{.question = row / candidates_, .right = row % candidates_ == 0};
  }

 private:
  // The padding behind its document, if the row has any.
  std::int64_t padding_of(std::int64_t sequence) const {
    return std::max<std::int64_t>(0, run_.seq_len - drawn_documents(run_)(sequence).tokens);
  }

  const spec::RunSpec& run_;
  std::unique_ptr<TokenSource> documents_;
  std::int64_t rows_;
  std::int64_t candidates_;
};

// For task eval: as many rows as its steps take, except three of the last batch; for a run that trains: two batches
// minus three rows.
inline std::unique_ptr<EvaluationSource> evaluation_of(const spec::RunSpec& run) {
  if (run.trains() && !run.evaluates_at_end()) return nullptr;
  if (!run.trains() && run.data.kind != spec::DataKind::synthetic) return make_run_data(run).evaluation;
  const std::int64_t steps = run.trains() ? 2 : run.steps;
  return std::make_unique<EvaluatedRows>(run, std::max<std::int64_t>(1, steps * run.global_batch - 3));
}

}  // namespace perfbench::engine
