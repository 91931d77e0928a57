#include "harness/app/data/prepare.h"

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "harness/app/data/document_lines.h"
#include "harness/app/data/source_texts.h"
#include "harness/system/input_error.h"
#include "harness/system/parallel_ranges.h"
#include "workloads/datasets/dataset_error.h"
#include "workloads/datasets/flat_tokens_writer.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

// The amount of text that all cores tokenize at once: large enough that the cost of starting threads does not matter.
constexpr std::int64_t kBatchBytes = std::int64_t{4} << 20;

using Made = std::variant<Document, EvaluationItem>;

Made made_of(const SourceText& text, DataFormat format, const Tokenizer& tokenizer) {
  switch (format) {
    case DataFormat::text:
      break;
    case DataFormat::jsonl:
      return document_of(object_of(text), tokenizer);
    case DataFormat::lambada:
      return lambada_item(object_of(text), tokenizer);
    case DataFormat::boolq:
      return boolq_item(object_of(text), tokenizer);
  }
  return Document{.kind = DocumentKind::text, .prompt = {}, .ids = whole_document(tokenizer, text.text)};
}

// Spreads the documents for validation evenly: item i is one if the integer part of (i + 1) * fraction increases there.
spec::Split split_of(std::int64_t index, double fraction) {
  const auto i = static_cast<double>(index);
  return std::floor((i + 1) * fraction) > std::floor(i * fraction) ? spec::Split::validation : spec::Split::train;
}

SplitSize size_of(const spec::FlatTokensWriter& writer, spec::Split split) {
  return {.tokens = writer.tokens(split), .sequences = writer.sequences(split)};
}

const char* words_of(DocumentKind kind) {
  switch (kind) {
    case DocumentKind::text:
      return "texts";
    case DocumentKind::prompted_text:
      return "prompts and completions as texts";
    case DocumentKind::prompted_ids:
      return "prompts and completions as ids";
  }
  return "";
}

class Preparation {
 public:
  explicit Preparation(const PrepareRequest& request)
      : request_(request),
        tokenizer_(request.tokenizer.empty() ? make_byte_tokenizer()
                                             : make_sentencepiece_tokenizer(request.tokenizer)) {}

  void read(const std::filesystem::path& file) {
    const TakeText add = [this](SourceText&& text) {
      batch_bytes_ += text.bytes;
      batch_.push_back(std::move(text));
      if (batch_bytes_ >= kBatchBytes) take_batch();
    };
    if (request_.format == DataFormat::text) {
      take_file(file, add);
    } else {
      for_each_line(file, add);
    }
  }

  PreparedDataset finish() {
    take_batch();
    if (!writer_) throw InputError("[data] no file contains a document; a data set needs text");
    PreparedDataset prepared{.train = size_of(*writer_, spec::Split::train),
                             .validation = size_of(*writer_, spec::Split::validation),
                             .vocab_size = std::int64_t{writer_->max_token_id()} + 1,
                             .empty = empty_,
                             .prompted = kind_ != DocumentKind::text,
                             .evaluates = evaluates()};
    writer_->finish();
    return prepared;
  }

 private:
  bool evaluates() const { return request_.format == DataFormat::lambada || request_.format == DataFormat::boolq; }

  // Adds the batch to the data set in the order of the files, for any number of cores.
  void take_batch() {
    std::vector<Made> made(batch_.size());
    parallel_ranges(batch_.size(), 1, [&](std::size_t, std::size_t begin, std::size_t end) {
      for (auto i = begin; i < end; ++i) {
        with_place_of(batch_[i], [&] { made[i] = made_of(batch_[i], request_.format, *tokenizer_); });
      }
    });
    for (std::size_t i = 0; i < made.size(); ++i) {
      with_place_of(batch_[i], [&] { std::visit([this](const auto& one) { take(one); }, made[i]); });
      read_bytes_ += batch_[i].bytes;
      request_.progress(read_bytes_);
    }
    batch_.clear();
    batch_bytes_ = 0;
  }

  void take(const EvaluationItem& item) {
    if (!writer_) {
      kind_ = DocumentKind::prompted_text;
      begin();
    }
    if (request_.format == DataFormat::boolq) {
      writer_->append_question(spec::Split::validation, item.prompt, item.completions, item.right);
    } else {
      writer_->append(spec::Split::validation, item.prompt, item.completions.front());
    }
  }

  void take(const Document& document) {
    if (document.ids.empty()) {
      ++empty_;
      return;
    }
    if (!writer_) {
      kind_ = document.kind;
      begin();
    }
    if (document.kind != kind_) {
      throw spec::SpecError("", std::string("is of another kind than the previous lines, which are ") +
                                    words_of(kind_) + "; make a separate data set of each");
    }
    const auto split = split_of(index_++, request_.validation_fraction);
    if (kind_ == DocumentKind::text) {
      writer_->append(split, document.ids);
    } else {
      writer_->append(split, document.prompt, document.ids);
    }
  }

  // The first document decides the kind of the data set.
  void begin() {
    spec::FlatTokensOptions options{.dataset = request_.out};
    if (kind_ != DocumentKind::prompted_ids) {
      options.max_token_id = static_cast<std::int32_t>(tokenizer_->vocabulary() - 1);
    }
    if (kind_ != DocumentKind::text) options.prompts = spec::Prompts::counted;
    if (request_.format == DataFormat::boolq) options.prompts = spec::Prompts::of_questions;
    writer_.emplace(options);
  }

  const PrepareRequest& request_;
  std::unique_ptr<Tokenizer> tokenizer_;
  DocumentKind kind_ = DocumentKind::text;
  std::optional<spec::FlatTokensWriter> writer_;
  std::int64_t index_ = 0;
  std::int64_t empty_ = 0;
  std::int64_t read_bytes_ = 0;
  std::vector<SourceText> batch_;
  std::int64_t batch_bytes_ = 0;
};

}  // namespace

PreparedDataset prepare_dataset(const PrepareRequest& request) {
  try {
    Preparation preparation(request);
    for (const auto& file : request.files) preparation.read(file);
    return preparation.finish();
  } catch (const spec::DatasetError& e) {
    throw InputError(std::string("[data] ") + e.what());
  }
}

}  // namespace perfbench::harness
