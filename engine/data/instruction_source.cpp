// Fine-tuning on prompts and completions (workloads/datasets/instruction_tokens.h).
#include <algorithm>
#include <string>

#include "engine/core/error.h"
#include "engine/data/dataset_input.h"
#include "engine/data/document_row.h"
#include "engine/data/token_source.h"
#include "engine/data/window_order.h"
#include "workloads/datasets/instruction_tokens.h"

namespace perfbench::engine {
namespace {

class InstructionSource final : public TokenSource {
 public:
  explicit InstructionSource(const spec::RunSpec& run)
      : run_(run), data_(from_dataset([&] { return spec::InstructionTokens(run.data.path, run.data.split); })) {
    if (data_.documents() == 0) throw BadInput(where() + ": has no document");
    if (data_.max_token_id() >= run.model.vocab_size) refuse_tokens_beyond_vocabulary();
  }

  TokenCounts read(const BatchPlace& place, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) override {
    const std::int64_t first = first_sequence(run_, place);
    const auto length = static_cast<std::size_t>(run_.seq_len);
    TokenCounts counts;
    for (std::int64_t b = 0; b < run_.microbatch(); ++b) {
      const auto at = static_cast<std::size_t>(b) * length;
      const auto index = window_of(first + b, data_.documents(), static_cast<std::uint64_t>(run_.data.seed));
      const auto document = from_dataset([&] { return data_.document(index, run_.seq_len + 1); });
      add(counts, fill_row(document, tokens.subspan(at, length), targets.subspan(at, length)));
    }
    return counts;
  }

 private:
  std::string where() const { return run_.data.path + "/" + run_.data.split; }

  // The data set says that it may have some: the documents say which.
  void refuse_tokens_beyond_vocabulary() {
    for (std::int64_t d = 0; d < data_.documents(); ++d) {
      const auto ids = from_dataset([&] { return data_.document(d).ids; });
      const auto most = *std::max_element(ids.begin(), ids.end());
      if (most < run_.model.vocab_size) continue;
      throw BadInput(where() + ": document " + std::to_string(d) + " has token " + std::to_string(most) +
                     ", but the vocabulary of " + run_.model.name + " has " + std::to_string(run_.model.vocab_size) +
                     " tokens; set model.vocab_size to at least " +
                     std::to_string(std::int64_t{data_.max_token_id()} + 1));
    }
  }

  const spec::RunSpec& run_;
  spec::InstructionTokens data_;
};

}  // namespace

std::unique_ptr<TokenSource> make_instruction_tokens(const spec::RunSpec& run) {
  return std::make_unique<InstructionSource>(run);
}

}  // namespace perfbench::engine
