// The rows of an evaluation: the documents of a data set with prompts (workloads/datasets/instruction_tokens.h) in
// their order, each once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/data/token_source.h"
#include "workloads/datasets/instruction_tokens.h"

namespace perfbench::engine {

// Microbatches of step 0, 1, ... hold the rows one after the other; behind the last one there is padding alone.
class EvaluationSource : public TokenSource {
 public:
  virtual std::int64_t rows() const = 0;
  // Nothing where the data set is not one of choices.
  virtual std::optional<spec::Candidate> candidate(std::int64_t row) const = 0;
};

// Steps of run.global_batch rows each.
std::int64_t evaluation_steps(const spec::RunSpec& run, std::int64_t rows);

// Of a split of a data set; every completion is a target. Of what is longer than a row the first tokens of the prompt
// are left out. Throws BadInput when the data set cannot be read, has no document, a completion that does not fit into
// a row with one token before it, or a token beyond the vocabulary.
std::unique_ptr<EvaluationSource> make_evaluation_source(const spec::RunSpec& run, const std::string& path,
                                                         const std::string& split);

// Drawn documents (synthetic_documents.h), as many as run.steps take.
std::unique_ptr<EvaluationSource> make_synthetic_evaluation(const spec::RunSpec& run);

}  // namespace perfbench::engine
