// perfbench predict: predicts the step times of cells, and of published rows with scores of these predictions.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "harness/app/runs/predicted_cells.h"
#include "harness/app/runs/predictor_scores.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/listed_values.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/predict/score_gate.h"
#include "harness/system/input_error.h"
#include "reports/content/prediction_document.h"

namespace perfbench::harness {
namespace {

struct PredictOptions {
  MatrixOptions matrix;
  std::string stack;
  bool score = false;
  bool rows = false;
  std::optional<predict::ScoreSplit> split;
  std::filesystem::path gate;
  reports::DocumentFormat format = reports::DocumentFormat::text;
  LayoutOptions layout;
};

std::vector<predict::ScoreSplit> splits_of(const PredictOptions& options) {
  if (options.split) return {*options.split};
  if (!options.score) return {predict::ScoreSplit::zero_fit};
  std::vector<predict::ScoreSplit> all;
  for (const auto& [split, name] : spec::EnumNames<predict::ScoreSplit>::kNames) all.push_back(split);
  return all;
}

ExitCode predict_cells(const PredictOptions& options) {
  if (options.score || options.rows || options.split) {
    throw InputError("[predict] --score, --rows and --split are about published rows: leave the matrix out");
  }
  if (options.stack.empty()) {
    throw InputError("[predict] name the software that trains the cells with --stack, such as --stack xla-gpu-te");
  }
  const auto cells = predicted_cells(options.matrix, options.stack, locate_data_dir());
  reports::Document out;
  reports::add_predicted_cells(out, cells);
  print_document(out, options.format, options.layout);
  return ExitCode::fine;
}

ExitCode show_predictions(const PredictOptions& options) {
  if (!options.matrix.file.empty()) return predict_cells(options);
  const auto& overrides = options.matrix.overrides;
  if (!overrides.only.empty() || !overrides.set.empty()) {
    throw InputError("[predict] --only and --set select cells of a matrix: name one");
  }
  if (!options.score && !options.rows) {
    throw InputError("[predict] nothing to predict: name a matrix, or use --score or --rows for the published rows");
  }
  const auto splits = splits_of(options);
  const auto result = predictor_scores(locate_data_dir(), splits);
  reports::Document out;
  if (options.score) reports::add_scores(out, result);
  if (options.rows) reports::add_predicted_rows(out, result);
  auto code = ExitCode::fine;
  if (!options.gate.empty()) {
    const auto missed =
        predict::missed_expectations(predict::load_expected_scores(options.gate), result.scores, splits);
    reports::add_gate(out, missed);
    if (!missed.empty()) code = ExitCode::regression;
  }
  print_document(out, options.format, options.layout);
  return code;
}

}  // namespace

void add_predict(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand(
      "predict", "Predicts step times of cells without a device, and scores predictions of published rows");
  auto options = std::make_shared<PredictOptions>();
  add_matrix_options(*command, options->matrix, MatrixFile::optional);
  command
      ->add_option("--stack", options->stack,
                   "software that trains the cells: a file of workloads/predictor/stacks, such as xla-gpu-te")
      ->type_name("STACK")
      ->needs(command->get_option("file"));
  command->add_flag("--score", options->score, "the errors of each split, beside constant utilisation");
  command->add_flag("--rows", options->rows,
                    "each row: predicted, published, interval, terms; alone of split zero_fit");
  add_name_option(
      *command, "--split", names_of_enum<predict::ScoreSplit>(),
      [options](const std::string& name) { options->split = spec::enum_value<predict::ScoreSplit>(name); },
      "only this split");
  add_path(*command, "--gate", options->gate, PathIs::file,
           "fail if a mean absolute error is over half a point above the one in this file")
      ->needs(command->get_option("--score"));
  add_output_options(*command, options->format, reports::DocumentFormat::markdown, options->layout,
                     "text (for a terminal), markdown, csv, json or html");
  command->footer(
      "A prediction needs no device and no run. It uses public measurements of devices "
      "(workloads/predictor/rates.yaml)\n"
      "and counts of what software does (workloads/predictor/stacks). The rows are those of workloads/published.\n"
      "Examples:\n"
      "  perfbench predict matrices/maxtext.yaml --stack xla-gpu-te\n"
      "  perfbench predict --score\n"
      "  perfbench predict --score --split zero_fit --gate workloads/predictor/expected_scores.yaml\n"
      "  perfbench predict --rows --split leave_one_out --format csv > rows.csv\n"
      "Exit codes: 0 success; 1 a score is worse than the gate's; 3 wrong input.");
  command->callback([options, &context] { context.exit_code = show_predictions(*options); });
}

}  // namespace perfbench::harness
