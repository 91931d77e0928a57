#include "harness/app/sweep/sweep_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/execute/interruption.h"
#include "harness/execute/machine_facts.h"
#include "harness/execute/process.h"
#include "harness/execute/program_start.h"
#include "harness/matrix/model_catalog.h"
#include "harness/plan/planner.h"
#include "harness/store/database.h"
#include "harness/store/queries/query.h"
#include "harness/store/queries/sweeps.h"
#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

// "--only model=a --only fsdp=2", or "no --only".
std::string option_text(const std::string& option, const std::vector<std::string>& values) {
  if (values.empty()) return "no " + option;
  return fmt::format("{} {}", option, fmt::join(values, " " + option + " "));
}

// The options that decide which cells a sweep runs, how, and how often, by name.
std::map<std::string, std::vector<std::string>> options_of(const SweepWords& words, std::int64_t repeats) {
  return {{"--only", words.only},
          {"--set", words.set},
          {"--program", words.program},
          {"--program-repo", words.program_repo},
          {"--repeats", repeats == 0 ? std::vector<std::string>() : std::vector{std::to_string(repeats)}}};
}

// The first contradiction between a sweep and a request, with both values; empty if there is none.
std::string contradiction(const RecordedRequest& begun, const SweepRequest& request) {
  const auto asked = options_of(request.matrix.words(), request.repeats);
  std::string out;
  for (const auto& [option, values] : options_of(begun.words, begun.repeats)) {
    if (values == asked.at(option)) continue;
    out += fmt::format("{}began with {}, but the request has {}", out.empty() ? "" : "; it ",
                       option_text(option, values), option_text(option, asked.at(option)));
  }
  return out.empty() ? out
                     : fmt::format(
                           "[sweep] --resume: the sweep {} {}: leave these options out to continue it, or begin a new "
                           "sweep without --resume",
                           begun.sweep_id, out);
}

// Completes a request with the options of the sweep that it continues. Throws InputError if they contradict each other.
// Sweeps of an older perfbench did not record their options.
void restore_request(SweepRequest& request, const Connection& db, const std::string& matrix) {
  const auto sweep_id = newest_sweep(db, matrix);
  const auto begun = sweep_id ? find_request(db, *sweep_id) : std::nullopt;
  if (!begun) return;
  auto& overrides = request.matrix.overrides;
  if (overrides.only.empty()) overrides.only = begun->words.only;
  if (overrides.set.empty()) overrides.set = begun->words.set;
  auto& program = request.matrix.program;
  if (program.program.empty() && !begun->words.program.empty()) program.program = begun->words.program.front();
  if (program.repo.empty() && !begun->words.program_repo.empty()) program.repo = begun->words.program_repo.front();
  if (request.repeats == 0) request.repeats = begun->repeats;
  if (const auto text = contradiction(*begun, request); !text.empty()) throw InputError(text);
  std::string restored;
  for (const auto& [option, values] : options_of(begun->words, begun->repeats)) {
    if (!values.empty()) restored += " " + option_text(option, values);
  }
  if (!restored.empty()) reports::print(stderr, "note: the sweep {} began with{}\n", begun->sweep_id, restored);
}

void record_beginning(Connection& db, const SweepRequest& request, const std::string& matrix,
                      const ExecutionSettings& execution) {
  record_request(db, {.sweep_id = execution.sweep_id,
                      .matrix = matrix,
                      .begun_utc = utc_now(),
                      .words = request.matrix.words(),
                      .repeats = request.repeats});
}

// The digests that attempts of these cells would record now: the engine's, or each cell's program's. Throws InputError
// if a program cannot be started here.
std::set<std::string> digests_now(const ExecutionSettings& execution, const std::vector<Cell>& cells) {
  std::set<std::string> out;
  try {
    for (const auto& cell : cells) {
      out.insert(cell.run.program ? program_digest(cell) : execution.engine_sha256);
    }
  } catch (const LaunchError& e) {
    throw InputError(e.what());
  }
  return out;
}

bool all_within(const std::vector<std::string>& digests, const std::set<std::string>& known) {
  return std::all_of(digests.begin(), digests.end(), [&known](const auto& digest) { return known.contains(digest); });
}

// A resumed sweep is still one sweep: one table, and repeats that are compared together. So it must have one engine and
// one request. Run directories that were stored just now may belong to a sweep that the database did not know before.
ResumedSweep resumed_sweep(Connection& db, const SweepRequest& request, const std::string& matrix,
                           const ExecutionSettings& execution, const std::vector<Cell>& cells) {
  const auto sweep_id = newest_sweep(db, matrix);
  ResumedSweep out{.sweep_id = sweep_id.value_or(execution.sweep_id), .repeats = execution.repeats};
  if (!sweep_id) {
    record_beginning(db, request, matrix, execution);
    return out;
  }
  const auto known = find_request(db, *sweep_id);
  out.says_words = known.has_value();
  if (known) out.obstacle = contradiction(*known, request);
  if (!out.obstacle.empty()) return out;
  const auto begun = sweep_settings(db, *sweep_id);
  if (out.repeats == 0) out.repeats = begun.repeats;
  // The engine of an image is known inside only.
  if (request.execution.launch.is_container()) return out;
  const auto now = begun.engines.empty() ? std::set<std::string>() : digests_now(execution, cells);
  if (begun.engines.empty()) {
    out.note = "note: the sweep " + *sweep_id + " does not record which engine began it; this one continues it";
  } else if (!all_within(begun.engines, now)) {
    out.obstacle = fmt::format(
        "[sweep] --resume: another {} began the sweep {} (SHA-256 {}; today {}), and one table must not mix the two: "
        "continue with that one, or begin a new sweep without --resume",
        cells.front().run.program ? "version of the program" : "engine", *sweep_id, fmt::join(begun.engines, ", "),
        fmt::join(now, ", "));
  }
  return out;
}

SweepOptions sweep_options(const SweepRequest& request, const Installation& installation) {
  SweepOptions out{.on_failure = request.on_failure,
                   .scope = request.resume ? Scope::unfinished_cells : Scope::every_cell,
                   .execution = execution_settings(request.execution, SweepKind::hand,
                                                   runs_folder(request.runs, request.db), installation)};
  out.execution.only = request.matrix.only_words();
  out.execution.words = request.matrix.words();
  out.execution.engine_sha256 = engine_sha256(installation.engine);
  out.execution.repeats = request.repeats;
  return out;
}

// Their results are then taken over with the other leftovers of the sweep. The database may not know the sweep yet.
void follow_jobs_left_behind(RemoteSessions* remote, const Connection& db, const std::string& matrix,
                             const std::filesystem::path& runs, const Interruption& interruption) {
  const auto open = open_sessions(runs, matrix, newest_sweep(db, matrix).value_or(""));
  if (open.empty()) return;
  if (remote != nullptr) return remote->attach(open, interruption.fd());
  const auto record = open.front().session().value();
  throw InputError(fmt::format(
      "[sweep] --resume: the sweep {} has jobs of the launcher {} that may still run: add --launcher {} to continue it",
      record.sweep_id, record.launch.launcher, record.launch.launcher));
}

// A requested device that is missing is an error; in a matrix, it only means that the cell is planned but not run.
void require_device(const std::string& device, const Installation& installation) {
  if (device != spec::enum_name(spec::Device::cuda)) return;
  const auto answer = ask_engine_environment({installation.engine});
  if (!answer.facts) throw InputError("[sweep] --device cuda: " + answer.error);
  if (const auto why_not = no_gpus_for(1, *answer.facts)) throw InputError("[sweep] --device cuda: " + *why_not);
}

// `db` is used only to resume a sweep.
template <class Database>
Expansion expansion_of(SweepRequest& request, const Installation& installation, const ModelCatalog& catalog,
                       const Database& db) {
  if (!request.device.empty()) request.matrix.overrides.set.push_back("device=" + request.device);
  if (request.resume) restore_request(request, db(), matrix_name(request.matrix, installation.data_dir()));
  return load_matrix(request.matrix, catalog, installation.data_dir());
}

}  // namespace

PlannedMatrix plan_sweep(SweepRequest request, const Installation& installation) {
  const ModelCatalog catalog(installation.data_dir());
  request.resume = request.resume && std::filesystem::exists(request.db);
  auto expansion = expansion_of(request, installation, catalog,
                                [&] { return open_database(request.db, {.mode = OpenMode::read_only}); });
  return {expansion.name,
          plan_cells(std::move(expansion.cells), {.engine = {installation.engine}, .catalog = &catalog})};
}

SweepSummary sweep_matrix(SweepRequest request, const Installation& installation, SweepStore& store,
                          Interruption& interruption) {
  const ModelCatalog catalog(installation.data_dir());
  const auto remote = remote_sessions(request.execution.launch, interruption);
  if (!remote) require_device(request.device, installation);
  auto expansion = expansion_of(request, installation, catalog, [&store]() -> const Connection& { return store.db(); });
  const auto work =
      plan_work(std::move(expansion.cells), installation, catalog, interruption.fd(), runs_where(remote.get()));
  auto options = sweep_options(request, installation);
  options.execution.remote = remote.get();
  if (request.resume)
    follow_jobs_left_behind(remote.get(), store.db(), expansion.name, options.execution.runs, interruption);
  // It is better to report a database that cannot be opened now than after an hour.
  if (!request.resume) record_beginning(store.db(), request, expansion.name, options.execution);
  return run_planned(work, options, store, interruption,
                     [&] { return resumed_sweep(store.db(), request, expansion.name, options.execution, work.cells); });
}

}  // namespace perfbench::harness
