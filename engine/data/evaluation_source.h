// The rows of an evaluation: the documents of a data set with prompts (workloads/datasets/instruction_tokens.h), each
// once, in their order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/data/token_source.h"
#include "workloads/datasets/instruction_tokens.h"

namespace perfbench::engine {

// The microbatches of steps 0, 1, ... hold the rows one after the other; after the last row there is only padding.
class EvaluationSource : public TokenSource {
 public:
  virtual std::int64_t rows() const = 0;
  // Empty if the data set is not one of choices.
  virtual std::optional<spec::Candidate> candidate(std::int64_t row) const = 0;
};

// The number of steps, with run.global_batch rows each.
std::int64_t evaluation_steps(const spec::RunSpec& run, std::int64_t rows);

// Evaluates a split of a data set; every token of a completion is a target. If a document is longer than a row, the
// first tokens of its prompt are left out. Throws BadInput if the data set cannot be read, has no document, a
// completion that does not fit into a row with one token in front of it, or a token beyond the vocabulary.
std::unique_ptr<EvaluationSource> make_evaluation_source(const spec::RunSpec& run, const std::string& path,
                                                         const std::string& split);

// Drawn documents (synthetic_documents.h), enough for run.steps.
std::unique_ptr<EvaluationSource> make_synthetic_evaluation(const spec::RunSpec& run);

}  // namespace perfbench::engine
