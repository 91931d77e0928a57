#include <sentencepiece_processor.h>

#include "harness/app/data/tokenizer.h"
#include "harness/system/input_error.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

class SentencePieceTokenizer final : public Tokenizer {
 public:
  explicit SentencePieceTokenizer(const std::filesystem::path& model) {
    const auto bytes = model_bytes(model);
    const auto status = processor_.LoadFromSerializedProto(bytes);
    if (!status.ok()) {
      throw InputError("[data] " + model.string() + " is not a readable SentencePiece model: " + status.ToString());
    }
  }

  std::int64_t vocabulary() const override { return processor_.GetPieceSize(); }

  std::vector<std::int32_t> tokens_of(std::string_view text) const override {
    std::vector<int> ids;
    const auto status = processor_.Encode(text, &ids);
    if (!status.ok()) throw spec::SpecError("", "SentencePiece cannot process this text: " + status.ToString());
    return {ids.begin(), ids.end()};
  }

  std::optional<std::int32_t> begin() const override { return if_any(processor_.bos_id()); }
  std::optional<std::int32_t> end() const override { return if_any(processor_.eos_id()); }

 private:
  // Refuses a pipe, which could block for ever.
  static std::string model_bytes(const std::filesystem::path& model) {
    try {
      if (auto bytes = spec::read_regular_file(model, spec::kLargestDocumentBytes)) return *std::move(bytes);
    } catch (const spec::FileError& e) {
      throw InputError(std::string("[data] --tokenizer: ") + e.what());
    }
    throw InputError("[data] --tokenizer: " + model.string() + " does not exist");
  }

  static std::optional<std::int32_t> if_any(int id) { return id >= 0 ? std::optional(id) : std::nullopt; }

  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const std::filesystem::path& model) {
  return std::make_unique<SentencePieceTokenizer>(model);
}

}  // namespace perfbench::harness
