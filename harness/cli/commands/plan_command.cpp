// perfbench plan: the needs of every cell of a matrix, without running it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/evidence/output_file.h"
#include "harness/matrix/model_catalog.h"
#include "harness/plan/explanation.h"
#include "harness/plan/kept_weights.h"
#include "harness/plan/plan_export.h"
#include "harness/plan/planner.h"
#include "harness/system/input_error.h"
#include "reports/content/explanation_document.h"
#include "reports/content/plan_document.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

struct PlanOptions {
  MatrixOptions matrix;
  TableFormat format = TableFormat::text;
  LayoutOptions layout;
  std::string explain;
};

// Whether the id belongs to a cell's run with kept weights, which the plan chooses.
bool is_run_with_kept_weights(Cell cell, const std::string& start_of_id) {
  if (!may_keep_bf16_weights(cell)) return false;
  keep_bf16_weights(cell);
  return cell.run_id.starts_with(start_of_id);
}

// Finds a cell by its label, or by the start of its run id.
Cell find_cell(const std::vector<Cell>& cells, const std::string& wanted) {
  constexpr std::size_t kShortestId = 4;
  for (const auto& cell : cells) {
    if (cell.label == wanted) return cell;
    if (wanted.size() < kShortestId) continue;
    if (cell.run_id.starts_with(wanted) || is_run_with_kept_weights(cell, wanted)) return cell;
  }
  std::string message = "[plan] --explain '" + wanted + "': no such cell; give its label or the start of its run id:";
  constexpr std::size_t kShown = 10;
  for (std::size_t i = 0; i < std::min(cells.size(), kShown); ++i) message += "\n  " + cells[i].label;
  if (cells.size() > kShown) message += "\n  ...";
  throw InputError(message);
}

void print_plan(const PlanOptions& options, const std::string& matrix, const std::vector<PlannedCell>& plan) {
  const bool is_export = options.format == TableFormat::json || options.format == TableFormat::csv;
  if (!is_export) {
    const auto document = reports::plan_document(matrix, plan);
    return print_document(document, document_format(options.format).value(), options.layout);
  }
  if (!options.layout.html.empty()) write_page(reports::plan_document(matrix, plan), options.layout);
  const auto write_to = [&](const WritePlan& write) {
    if (options.format == TableFormat::json) return write_plan_json(matrix, plan, write);
    write_plan_csv(matrix, plan, write);
  };
  if (options.layout.output.empty()) {
    return write_to([](std::string_view part) { reports::print_text(stdout, part); });
  }
  write_output(options.layout.output, write_to);  // never in one piece
}

ExitCode explain(const PlanOptions& options, const Cell& cell, const PlanRequest& request) {
  const auto explanation = explain_cell(cell, request);
  print_document(reports::explanation_document(explanation), document_format(options.format).value(), options.layout);
  return explanation.cell.state == PlanState::failed ? ExitCode::failure : ExitCode::fine;
}

ExitCode plan(const PlanOptions& options, const CommandContext& context) {
  const ModelCatalog catalog(context.data_dir());
  auto expansion = load_matrix(options.matrix, catalog, context.data_dir());
  const PlanRequest request{.engine = {context.engine}, .catalog = &catalog};
  if (!options.explain.empty()) return explain(options, find_cell(expansion.cells, options.explain), request);
  const auto planned = plan_cells(std::move(expansion.cells), request);
  print_plan(options, expansion.name, planned);
  const bool any_failed = std::any_of(planned.begin(), planned.end(),
                                      [](const PlannedCell& cell) { return cell.state == PlanState::failed; });
  return any_failed ? ExitCode::failure : ExitCode::fine;
}

}  // namespace

void add_plan(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("plan", "Memory, FLOPs and traffic of every cell, without running it");
  auto options = std::make_shared<PlanOptions>();
  add_matrix_options(*command, options->matrix);
  add_program_options(*command, options->matrix.program);
  add_output_options(*command, options->format, TableFormat::text, options->layout,
                     "text, markdown, csv, json, html or svg");
  command->add_option("--explain,--details", options->explain,
                      "one cell, by label or run id: its memory in detail, and alternatives that would fit");
  command->footer(
      "Examples:\n"
      "  perfbench plan matrices/llama.yaml\n"
      "  perfbench plan matrices/llama.yaml --only 'model=*405b'\n"
      "  perfbench plan matrices/quickstart.yaml --explain 'model=gpt-mini attention=flash remat=none'\n"
      "  perfbench plan matrices/seqax.yaml --format csv --output plan.csv\n"
      "  perfbench plan matrices/maxtext.yaml --program maxtext\n"
      "  perfbench plan matrices/quickstart.yaml --format svg --chart memory --output memory.svg\n"
      "Exit codes: 0 success, also with infeasible cells; 3 input error; 4 a cell could not be counted.");
  command->callback([options, &context] { context.exit_code = plan(*options, context); });
}

}  // namespace perfbench::harness
