#include "engine/data/evaluation_source.h"

#include <algorithm>

#include "engine/core/error.h"
#include "engine/data/dataset_input.h"
#include "engine/data/document_row.h"
#include "engine/data/synthetic_documents.h"
#include "workloads/spec/divide_up.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

class DatasetRows final : public EvaluationSource {
 public:
  DatasetRows(const spec::RunSpec& run, const std::string& path, const std::string& split)
      : run_(run),
        where_(path + "/" + split),
        data_(from_dataset([&] { return spec::InstructionTokens(path, split); })) {
    if (rows() == 0) throw BadInput(where_ + ": has no document");
    if (data_.max_token_id() >= run.model.vocab_size) {
      throw BadInput(where_ + ": has tokens up to " + std::to_string(data_.max_token_id()) +
                     ", but the vocabulary of " + run.model.name + " has " + std::to_string(run.model.vocab_size) +
                     " tokens; set model.vocab_size to at least " +
                     std::to_string(std::int64_t{data_.max_token_id()} + 1));
    }
    // Checks all documents before the first one is used.
    for (std::int64_t row = 0; row < rows(); ++row) document(row);
  }

  TokenCounts read(const BatchPlace& place, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) override {
    const std::int64_t first = first_sequence(run_, place);
    const auto length = static_cast<std::size_t>(run_.seq_len);
    TokenCounts counts;
    for (std::int64_t b = 0; b < run_.microbatch(); ++b) {
      const auto at = static_cast<std::size_t>(b) * length;
      const auto of_row = first + b < rows() ? document(first + b) : spec::InstructionTokens::Document{};
      add(counts, fill_row(of_row, tokens.subspan(at, length), targets.subspan(at, length)));
    }
    return counts;
  }

  std::int64_t rows() const override { return data_.documents(); }
  std::optional<spec::Candidate> candidate(std::int64_t row) const override {
    if (data_.questions() == 0) return std::nullopt;
    return data_.candidate(row);
  }

 private:
  // Keeps as much of the document's end as a row holds: its inputs and the last target.
  spec::InstructionTokens::Document document(std::int64_t row) {
    auto out = from_dataset([&] { return data_.document(row); });
    const auto tokens = static_cast<std::int64_t>(out.ids.size());
    const std::int64_t too_many = std::max<std::int64_t>(0, tokens - (run_.seq_len + 1));
    if (too_many >= out.prompt_tokens) {
      throw BadInput(where_ + ": document " + std::to_string(row) + " has a completion of " +
                     std::to_string(tokens - out.prompt_tokens) + " tokens, which with one before them do not fit " +
                     "into a row; use a seq_len of at least " + std::to_string(tokens - out.prompt_tokens));
    }
    out.ids.erase(out.ids.begin(), out.ids.begin() + too_many);
    out.prompt_tokens -= too_many;
    return out;
  }

  const spec::RunSpec& run_;
  std::string where_;
  spec::InstructionTokens data_;
};

class SyntheticRows final : public EvaluationSource {
 public:
  explicit SyntheticRows(const spec::RunSpec& run)
      : rows_(run.steps * run.global_batch), documents_(make_synthetic_documents(run, drawn_documents(run))) {}

  TokenCounts read(const BatchPlace& place, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) override {
    return documents_->read(place, tokens, targets);
  }
  std::int64_t rows() const override { return rows_; }
  std::optional<spec::Candidate> candidate(std::int64_t) const override { return std::nullopt; }

 private:
  std::int64_t rows_;
  std::unique_ptr<TokenSource> documents_;
};

}  // namespace

std::int64_t evaluation_steps(const spec::RunSpec& run, std::int64_t rows) {
  return spec::divide_up(rows, run.global_batch);
}

std::unique_ptr<EvaluationSource> make_synthetic_evaluation(const spec::RunSpec& run) {
  return std::make_unique<SyntheticRows>(run);
}

std::unique_ptr<EvaluationSource> make_evaluation_source(const spec::RunSpec& run, const std::string& path,
                                                         const std::string& split) {
  return std::make_unique<DatasetRows>(run, path, split);
}

}  // namespace perfbench::engine
