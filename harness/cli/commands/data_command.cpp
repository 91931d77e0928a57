// perfbench data: makes and describes data sets for runs with data.kind flat_tokens or instruction.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>

#include "harness/app/data/prepare.h"
#include "harness/app/data/source_texts.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/options.h"
#include "harness/execute/progress.h"
#include "harness/system/input_error.h"
#include "reports/render/format/number.h"
#include "reports/render/format/print.h"
#include "workloads/datasets/dataset_error.h"
#include "workloads/datasets/flat_tokens.h"
#include "workloads/datasets/instruction_tokens.h"

namespace perfbench::harness {
namespace {

enum class Corpus { none, debian };

struct PrepareOptions {
  PrepareRequest request;
  Corpus corpus = Corpus::none;
  std::vector<std::filesystem::path> paths;
};

// Shows the progress every few seconds: a tokenizer reads a few megabytes a second.
class PreparationProgress {
 public:
  explicit PreparationProgress(const std::vector<std::filesystem::path>& files) {
    std::error_code unknown;  // errors are reported when the file is read
    for (const auto& file : files) {
      const auto size = std::filesystem::file_size(file, unknown);
      if (!unknown) all_bytes_ += static_cast<double>(size);
    }
  }

  void operator()(std::int64_t read_bytes) {
    constexpr std::chrono::seconds kPause{5};
    const auto now = Clock::now();
    if (now - said_ < kPause) return;
    said_ = now;
    const double seconds = std::chrono::duration<double>(now - begun_).count();
    const auto read = static_cast<double>(read_bytes);
    const double left_s = seconds_left(seconds, read, all_bytes_ - read);
    reports::print(stderr, "{:.0f} % read, about {} left\n", 100 * std::min(1.0, read / all_bytes_),
                   reports::format_duration(left_s));
  }

 private:
  using Clock = std::chrono::steady_clock;
  double all_bytes_ = 0;
  Clock::time_point begun_ = Clock::now();
  Clock::time_point said_ = begun_;
};

void print_split(std::string_view split, const SplitSize& size) {
  reports::print("{}: {} tokens in {} sequences\n", split, size.tokens, size.sequences);
}

ExitCode prepare(PrepareOptions options) {
  if (options.paths.empty() == (options.corpus == Corpus::none)) {
    throw InputError("[data] prepare takes either text files and folders, or --corpus debian");
  }
  if (options.request.format != DataFormat::text && options.corpus != Corpus::none) {
    throw InputError("[data] --corpus debian is plain text; other formats need files of JSON lines");
  }
  options.request.files = options.corpus == Corpus::debian ? debian_corpus() : text_files(options.paths);
  options.request.progress = PreparationProgress(options.request.files);
  const auto prepared = prepare_dataset(options.request);
  print_split(spec::kTrainSplit, prepared.train);
  print_split(spec::kValidationSplit, prepared.validation);
  if (prepared.empty > 0) reports::print("{} empty documents left out\n", prepared.empty);
  reports::print("{} is ready: {}, data.path {}, model.vocab_size {}\n", options.request.out.string(),
                 prepared.evaluates  ? "task eval, data.kind instruction, data.split validation"
                 : prepared.prompted ? "task sft, data.kind instruction"
                                     : "data.kind flat_tokens",
                 options.request.out.string(), prepared.vocab_size);
  return ExitCode::fine;
}

ExitCode show_prepared(const std::filesystem::path& dataset) {
  try {
    for (const auto split : {spec::kTrainSplit, spec::kValidationSplit}) {
      const spec::FlatTokens data(dataset, split);
      print_split(split, {.tokens = data.tokens(), .sequences = data.sequences()});
      reports::print("  max_token_id {}\n", data.max_token_id());
      if (!spec::has_prompts(dataset, split)) continue;
      const spec::InstructionTokens documents(dataset, split);
      reports::print("  {} tokens of prompts\n", documents.prompt_tokens());
      if (documents.questions() > 0) reports::print("  candidates for {} questions\n", documents.questions());
    }
  } catch (const spec::DatasetError& e) {
    throw InputError(std::string("[data] ") + e.what());
  }
  return ExitCode::fine;
}

void add_prepare(CLI::App& data, CommandContext& context) {
  auto* command = data.add_subcommand(
      "prepare", "Makes a data set from text: each file is a document, or each line of a JSON lines file");
  auto options = std::make_shared<PrepareOptions>();
  add_path(*command, "--out", options->request.out, PathIs::folder, "folder of the data set; it must not exist")
      ->required();
  add_number(*command, "--validation-fraction", options->request.validation_fraction, Bounds<double>{0, 1.0},
             "share of the documents for validation (for lambada and boolq, all are for validation)")
      ->capture_default_str();
  add_enum_option(
      *command, "--format", options->request.format,
      "text: each file; jsonl: each line, {\"text\": TEXT} or {\"prompt\": P, \"completion\": C}, where P and C are "
      "both texts or both lists of ids; lambada, boolq: lines of those data sets, for evaluation");
  add_path(*command, "--tokenizer", options->request.tokenizer, PathIs::file,
           "a SentencePiece model; without it each byte is a token");
  const auto take_debian = [options](const std::string&) { options->corpus = Corpus::debian; };
  add_name_option(*command, "--corpus", {"debian"}, take_debian,
                  "text that is installed on this system: licences and copyright files");
  add_path(*command, "PATH", options->paths, PathIs::either, "text files, and folders with text files");
  command->footer(
      "Examples:\n"
      "  perfbench data prepare --corpus debian --out text\n"
      "  perfbench data prepare --out c4 --format jsonl --tokenizer llama.model c4-train.*.jsonl\n"
      "Exit codes: 0 the data set is ready; 3 wrong input, or the folder exists; 4 it cannot be written.");
  command->callback([options, &context] { context.exit_code = prepare(*options); });
}

void add_data_show(CLI::App& data, CommandContext& context) {
  auto* command = data.add_subcommand("show", "Describes a data set");
  auto dataset = std::make_shared<std::filesystem::path>();
  add_path(*command, "DIR", *dataset, PathIs::folder, "folder of the data set")->required();
  command->footer(
      "Examples:\n  perfbench data show text\nExit codes: 0 success; 3 there is no data set, or it is damaged.");
  command->callback([dataset, &context] { context.exit_code = show_prepared(*dataset); });
}

}  // namespace

void add_data(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("data", "Makes and shows data sets of tokens");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  perfbench data prepare --corpus debian --out text\n"
      "  perfbench data prepare --out mine notes/ README.md\n"
      "  perfbench data prepare --out c4 --format jsonl --tokenizer llama.model c4-train.*.jsonl\n"
      "  perfbench data prepare --out answers --format jsonl --tokenizer llama.model answers.jsonl\n"
      "  perfbench data prepare --out lambada --format lambada --tokenizer llama.model lambada_test.jsonl\n"
      "  perfbench data show text\n"
      "Exit codes: 0 success; 3 wrong input; 4 the data set cannot be written.");
  add_prepare(*command, context);
  add_data_show(*command, context);
}

}  // namespace perfbench::harness
