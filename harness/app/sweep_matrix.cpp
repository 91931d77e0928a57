#include "harness/app/sweep_matrix.h"

#include <fmt/format.h>

#include "harness/input_error.h"
#include "harness/matrix/model_catalog.h"
#include "harness/plan/runnable.h"
#include "harness/provenance/machine_facts.h"
#include "harness/run/interruption.h"
#include "harness/store/query.h"

namespace perfbench::harness {
namespace {

// What is resumed is the same sweep: one table, and repeats that are compared together. So it has one engine.
ResumedSweep resumed_sweep(const Connection& db, const std::string& matrix, const ExecutionSettings& execution) {
  const auto sweep_id = newest_sweep(db, matrix);
  ResumedSweep out{.sweep_id = sweep_id.value_or(execution.sweep_id), .repeats = execution.repeats};
  if (!sweep_id) return out;
  const auto begun = sweep_settings(db, *sweep_id);
  if (out.repeats == 0) out.repeats = begun.repeats;
  if (begun.engines.empty()) {
    out.note = "note: the sweep " + *sweep_id + " does not say which engine began it; this one goes on with it";
  } else if (begun.engines != std::vector{execution.engine_sha256}) {
    out.obstacle = fmt::format(
        "[sweep] --resume: another engine began the sweep {} (SHA-256 {}; {} is {}), and one table would show the two "
        "as one: go on with that engine, or begin a new sweep without --resume",
        *sweep_id, fmt::join(begun.engines, ", "), execution.launcher.engine.file.string(), execution.engine_sha256);
  }
  return out;
}

SweepOptions sweep_options(const SweepRequest& request, const Installation& installation) {
  SweepOptions out{.on_failure = request.on_failure,
                   .scope = request.resume ? Scope::unfinished_cells : Scope::every_cell,
                   .execution = execution_settings(request.execution, SweepKind::hand,
                                                   runs_folder(request.runs, request.db), installation)};
  out.execution.only = request.matrix.only_words();
  out.execution.engine_sha256 = engine_sha256(installation.engine);
  out.execution.repeats = request.repeats;
  return out;
}

// Asked for by hand, a device that is not there is an error; in a matrix it is a cell that is only planned.
void require_device(const std::string& device, const Installation& installation) {
  if (device != spec::enum_name(spec::Device::cuda)) return;
  const auto answer = ask_engine_environment({installation.engine});
  if (!answer.facts) throw InputError("[sweep] --device cuda: " + answer.error);
  if (const auto why_not = no_gpus_for(1, *answer.facts)) throw InputError("[sweep] --device cuda: " + *why_not);
}

Expansion expansion_of(SweepRequest& request, const Installation& installation, const ModelCatalog& catalog) {
  if (!request.device.empty()) request.matrix.overrides.set.push_back("device=" + request.device);
  return load_matrix(request.matrix, catalog, installation.data_dir());
}

}  // namespace

PlannedMatrix plan_sweep(SweepRequest request, const Installation& installation) {
  const ModelCatalog catalog(installation.data_dir());
  auto expansion = expansion_of(request, installation, catalog);
  return {expansion.name,
          plan_cells(std::move(expansion.cells), {.engine = {installation.engine}, .catalog = &catalog})};
}

SweepSummary sweep_matrix(SweepRequest request, const Installation& installation, SweepStore& store,
                          Interruption& interruption) {
  const ModelCatalog catalog(installation.data_dir());
  require_device(request.device, installation);
  auto expansion = expansion_of(request, installation, catalog);
  const auto work = plan_work(std::move(expansion.cells), installation, catalog, interruption.fd());
  store.db();  // a database that cannot even be opened is better said now than after an hour
  const auto options = sweep_options(request, installation);
  return run_planned(work, options, store, interruption,
                     [&] { return resumed_sweep(store.db(), expansion.name, options.execution); });
}

}  // namespace perfbench::harness
