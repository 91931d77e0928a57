// Files that consist of one JSON document; they are read when they are complete.
#include <array>

#include "harness/readers/file_readers.h"
#include "harness/readers/json_row.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::readers {
namespace {

class DocumentReader : public RowReader {
 public:
  DocumentReader(const Program& program, std::span<const Key> keys, const Settings& settings, SampleSink sink)
      : RowReader(program, settings, std::move(sink)), keys_(keyed_figures(keys)) {}

  void feed(std::string_view bytes, ArrivalTime) override {
    const auto room = static_cast<std::size_t>(spec::kLargestDocumentBytes) - text_.size();
    text_.append(bytes.substr(0, room));
  }
  void finish() override {
    try {
      read(spec::parse_json(with_quoted_words(text_)));
    } catch (const spec::SpecError& e) {
      note(std::string("the file is not a JSON document: ") + e.what());
    } catch (const spec::Json::exception&) {
      note("the file is not of the kind that this reader reads");
    }
    RowReader::finish();
  }

 protected:
  virtual void read(const spec::Json& document) = 0;
  // The figures of one object in the document.
  Row row_of(const spec::Json& object) const {
    Row row;
    add_json(spec::json_line(object), keys_, row);
    return row;
  }

 private:
  std::vector<KeyedFigure> keys_;
  std::string text_;
};

// train_runtime is the time since the start, with a resolution of 0.1 ms; rows of version 4.x do not have it. The time
// of an evaluation is in the time of the rows around it. The summary at the end has train_loss.
constexpr Program kHfState{
    .info = {}, .forms = {}, .first_step = 1, .covers = Covers::since_last, .elapsed_resolution_s = 1e-4};
constexpr std::array kHfStateKeys{Key{"step", "step"},
                                  Key{"loss", "loss"},
                                  Key{"grad_norm", "grad_norm"},
                                  Key{"learning_rate", "learning_rate"},
                                  Key{"train_runtime", "elapsed_s"},
                                  Key{"train_tokens_per_second", "tok_s"},
                                  Key{"train_steps_per_second", "steps_per_s"}};

class HfStateReader final : public DocumentReader {
 public:
  HfStateReader(const Settings& settings, SampleSink sink)
      : DocumentReader(kHfState, kHfStateKeys, settings, std::move(sink)) {}

 private:
  void read(const spec::Json& document) override {
    for (const auto& object : document.at("log_history")) {
      if (object.contains("eval_loss") || object.contains("eval_runtime")) {
        evaluated();
        continue;
      }
      auto row = row_of(object);
      row.claim_kind = spec::SampleKind::since_start_mean;
      if (!row.entries.empty()) take(std::move(row));
    }
  }
};

// The value is the median of a profile, so it counts as a claim. step_execution_time is null without a profile.
constexpr Program kTorchprimeMetrics{.info = {}, .forms = {}, .first_step = 0};
constexpr std::array kTorchprimeMetricsKeys{Key{"step_execution_time", "stated_step_time_s"},
                                            Key{"mfu", "mfu_fraction"}, Key{"tokens_per_second", "tok_s"}};

class TorchprimeMetricsReader final : public DocumentReader {
 public:
  TorchprimeMetricsReader(const Settings& settings, SampleSink sink)
      : DocumentReader(kTorchprimeMetrics, kTorchprimeMetricsKeys, settings, std::move(sink)) {}

 private:
  void read(const spec::Json& document) override {
    auto row = row_of(document);
    row.claim_kind = spec::SampleKind::since_start_mean;
    if (!row.entries.empty()) take(std::move(row));
  }
};

}  // namespace

std::unique_ptr<Reader> make_hf_state_reader(const Settings& settings, SampleSink sink) {
  return std::make_unique<HfStateReader>(settings, std::move(sink));
}

std::unique_ptr<Reader> make_torchprime_metrics_reader(const Settings& settings, SampleSink sink) {
  return std::make_unique<TorchprimeMetricsReader>(settings, std::move(sink));
}

}  // namespace perfbench::readers
