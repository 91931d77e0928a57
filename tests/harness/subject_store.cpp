#include "tests/harness/subject_store.h"

#include <fmt/core.h>

#include "harness/evidence/run_evidence.h"
#include "harness/store/archive/transfer.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/comparison_ledger.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

std::string digest_of(char engine) {
  return std::string(64, engine);
}

constexpr const char* kFault = "slow:span=matmul,fraction=0.5";

}  // namespace

SubjectStore::SubjectStore() {
  add_sweep("20260101T000000Z-one", SweepKind::hand, 'a', 0.1013, 3);
  add_sweep("20260102T000000Z-two", SweepKind::hand, 'a', 0.1013, 2);
  clean_ = {{.name = "aaaaaaaa", .step_s = 0.1013, .runs = 5}};
  add_sweep("20260103T000000Z-night", SweepKind::night, 'b', 0.6011, 2);
  clean_.push_back({.name = "bbbbbbbb", .step_s = 0.6011, .runs = 2, .sweep_id = "20260103T000000Z-night"});
  add_sweep("20260104T000000Z-night", SweepKind::night, 'c', 0.7019, 2);
  clean_.push_back({.name = "cccccccc", .step_s = 0.7019, .runs = 2, .sweep_id = "20260104T000000Z-night"});
  add_comparison("20260105T000000Z-revisions", 'd', 'e', "", 0.2027, 0.3041);
  clean_.push_back({.name = "dddddddd, side A", .step_s = 0.2027, .runs = 2});
  clean_.push_back({.name = "eeeeeeee, side B", .step_s = 0.3041, .runs = 2});
  add_comparison("20260106T000000Z-fault", 'a', 'f', kFault, 0.4057, 0.5003);
  clean_.push_back({.name = "aaaaaaaa, side A", .step_s = 0.4057, .runs = 2});
  injected_ = {.name = fmt::format("ffffffff, inject {}, side B", kFault),
               .step_s = 0.5003,
               .runs = 2,
               .sweep_id = "20260106T000000Z-fault"};
  add_import();
  clean_.push_back({.name = "unknown engine of 20251231T000000Z-old", .step_s = 0.8039, .runs = 2});
}

ExampleRun SubjectStore::example(const std::string& sweep_id, char commit, double step_s) {
  ExampleRun out{.attempt = example_attempt("c", ++written_)};
  out.attempt.sweep_id = sweep_id;
  out.attempt.engine_sha256.clear();  // as an older perfbench records it
  out.attempt.started_utc = fmt::format("{}-{}-{}T00:00:{:02}Z", sweep_id.substr(0, 4), sweep_id.substr(4, 2),
                                        sweep_id.substr(6, 2), written_);
  out.environment.git_commit = std::string(40, commit);
  out.environment.git_dirty = false;
  out.step_s.assign(6, step_s);
  return out;
}

fs::path SubjectStore::write(const ExampleRun& example) {
  const auto folder = scratch_ / fmt::format("runs/{}", written_);
  write_run_directory(folder, example);
  run_id_ = read_attempt(folder)->run_id;
  return folder;
}

void SubjectStore::add_sweep(const std::string& id, SweepKind kind, char engine, double step_s, int runs) {
  auto store = open_database(db());
  for (int i = 0; i < runs; ++i) {
    auto one = example(id, engine, step_s);
    one.attempt.sweep_kind = kind;
    one.attempt.engine_sha256 = digest_of(engine);
    ingest_run_directory(store, write(one));
  }
}

void SubjectStore::add_comparison(const std::string& id, char a, char b, const std::string& fault, double a_s,
                                  double b_s) {
  auto store = open_database(db());
  ComparisonRecord comparison{.comparison_id = id, .matrix = "example", .settings = id};
  comparison.a = {.side = Side::a, .asked = "A", .kind = SideKind::revision, .engine_sha256 = digest_of(a)};
  comparison.b = {.side = Side::b, .asked = "B", .kind = SideKind::revision, .engine_sha256 = digest_of(b)};
  begin_comparison(store, comparison);
  const auto run = [&](char engine, double step_s, bool is_faulty) {
    auto one = example(id, engine, step_s);
    one.attempt.sweep_kind = SweepKind::comparison;
    if (!fault.empty())
      one.attempt.engine_sha256 = digest_of(engine);  // the other one is recorded by an older perfbench
    if (is_faulty) one.attempt.command.insert(one.attempt.command.end(), {"--inject", fault});
    const auto folder = write(one);
    return store_side_run(store, folder, *read_attempt(folder));
  };
  for (std::size_t pair = 1; pair <= 2; ++pair) {
    ExecutedPair executed{.cell = 0, .number = pair};
    executed.a = run(a, a_s, false);
    executed.b = run(b, b_s, !fault.empty());
    add_pair(store, comparison.key, "c", executed);
  }
  finish_comparison(store, comparison, {});
}

void SubjectStore::add_import() {
  const auto elsewhere = scratch_ / "elsewhere.db";
  {
    auto store = open_database(elsewhere);
    for (int i = 0; i < 2; ++i) ingest_run_directory(store, write(example("20251231T000000Z-old", '9', 0.8039)));
  }
  const auto file = scratch_ / "elsewhere.perfbench";
  export_runs({.db = elsewhere, .selection = parse_selection("all"), .file = file});
  import_runs(db(), file);
}

}  // namespace perfbench::harness
