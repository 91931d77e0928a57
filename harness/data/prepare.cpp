#include "harness/data/prepare.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "harness/data/document_lines.h"
#include "harness/data/evaluation_lines.h"
#include "harness/data/json_lines.h"
#include "harness/input_error.h"
#include "workloads/datasets/dataset_error.h"
#include "workloads/datasets/flat_tokens_writer.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

std::string whole_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) {
    throw InputError("[data] " + file.string() + " cannot be read: " + std::strerror(errno));
  }
  return text;
}

// Spreads what is held out for validation evenly: item i is where the whole part of (i + 1) * fraction goes up.
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
    if (request_.format == DataFormat::text) {
      const auto text = whole_text(file);
      note_read(std::ssize(text));
      take({.kind = DocumentKind::text, .prompt = {}, .ids = whole_document(*tokenizer_, text)});
      return;
    }
    for_each_json_line(file, [this](const spec::Json& line, std::int64_t bytes) {
      note_read(bytes);
      take_line(line);
    });
  }

  PreparedDataset finish() {
    if (!writer_) throw InputError("[data] no file has a document; a data set needs text");
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

  void note_read(std::int64_t bytes) {
    read_bytes_ += bytes;
    request_.progress(read_bytes_);
  }

  void take_line(const spec::Json& line) {
    switch (request_.format) {
      case DataFormat::text:
        break;
      case DataFormat::jsonl:
        return take(document_of(line, *tokenizer_));
      case DataFormat::lambada:
        return take(lambada_item(line, *tokenizer_));
      case DataFormat::boolq:
        return take(boolq_item(line, *tokenizer_));
    }
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
      throw spec::SpecError("", std::string("is of another kind than the lines before: those are ") + words_of(kind_) +
                                    "; make a data set of each");
    }
    const auto split = split_of(index_++, request_.validation_fraction);
    if (kind_ == DocumentKind::text) {
      writer_->append(split, document.ids);
    } else {
      writer_->append(split, document.prompt, document.ids);
    }
  }

  // What the first document is decides what the data set is.
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
