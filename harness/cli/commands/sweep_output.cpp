#include "harness/cli/commands/sweep_output.h"

#include <fmt/format.h>

#include "harness/app/runs/stored_tables.h"
#include "harness/cli/shell/shared_options.h"
#include "reports/render/format/print.h"
#include "reports/views/store_views.h"

namespace perfbench::harness {
namespace {

void print_end(const SweepSummary& summary, const SweepRequest& request) {
  std::string states;
  for (const auto& [state, count] : summary.states) {
    states += fmt::format("{}{} {}", states.empty() ? "" : ", ", count, spec::enum_name(state));
  }
  if (summary.cells_already_done > 0) {
    states += fmt::format("{}{} done before", states.empty() ? "" : ", ", summary.cells_already_done);
  }
  reports::print("\n{}; database {}, evidence {}\n", states.empty() ? "nothing to do" : states, request.db.string(),
                 runs_folder(request.runs, request.db).string());
  if (summary.cancelled) reports::print("cancelled; `--resume` continues it\n");
  if (!summary.store_error.empty()) {
    reports::print("{} attempts are not in the database ({}); repeat with: perfbench ingest {} --db {}\n",
                   summary.not_stored.size(), summary.store_error, runs_folder(request.runs, request.db).string(),
                   request.db.string());
  }
}

// Shows everything that was stored, even if something could not be stored: print_end reports that.
void print_table(const SweepSummary& summary, SweepStore& store, const CommandContext& context) {
  try {
    const auto document = reports::report_view(store.db(), {.selection = summary.sweep_id}, {}, context);
    reports::print("\n");
    print_document(
        document, reports::is_terminal(stdout) ? reports::DocumentFormat::text : reports::DocumentFormat::markdown, {});
  } catch (const std::exception&) {
    if (summary.store_error.empty()) throw;
  }
}

}  // namespace

ExitCode print_sweep(const SweepSummary& summary, const SweepRequest& request, SweepStore& store,
                     const CommandContext& context) {
  if (summary.attempts.size() + static_cast<std::size_t>(summary.cells_already_done) > 0) {
    print_table(summary, store, context);
  }
  print_end(summary, request);
  return tell_left_out(store.db(), summary.all_fine() ? ExitCode::fine : ExitCode::failure);
}

}  // namespace perfbench::harness
