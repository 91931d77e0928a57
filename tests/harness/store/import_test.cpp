#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/store/archive/archive.h"
#include "harness/store/archive/transfer.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/store/ledgers/baseline_ledger.h"
#include "harness/store/ledgers/bisection_ledger.h"
#include "harness/store/ledgers/judgement_ledger.h"
#include "harness/store/ledgers/selftest_ledger.h"
#include "harness/store/ledgers/tag_ledger.h"
#include "harness/system/input_error.h"
#include "harness/system/run_id.h"
#include "tests/harness/example_alert.h"
#include "tests/harness/example_run.h"
#include "tests/harness/unpacked_archive.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The whole content of a store without local keys: the oracle, written table by table.
constexpr const char* kAttempt =
    "(SELECT r.run_id || ' ' || s.sweep_id || ' ' || a.attempt || ' ' || a.started_utc FROM attempts a "
    "JOIN runs r USING (run_key) JOIN sweeps s USING (sweep_key) WHERE a.attempt_key = x.attempt_key)";

std::vector<std::string> contents(const fs::path& path) {
  const auto db = open_database(path, {.mode = OpenMode::read_only});
  const std::string attempt = kAttempt;
  std::vector<std::string> queries = {
      "SELECT 'sweeps', sweep_id, matrix, started_utc, selection, kind FROM sweeps LEFT JOIN sweep_selections USING "
      "(sweep_key)",
      "SELECT 'sweep_requests', sweep_id, matrix, begun_utc, repeats, option, position, words FROM sweep_requests "
      "JOIN sweep_request_words USING (request_key)",
      "SELECT 'names', name FROM names",
      "SELECT 'runs', run_id, model, device, precision, steps, pp, run_json FROM runs",
      "SELECT 'run_fields', run_id, name, value FROM run_fields JOIN runs USING (run_key) JOIN names USING (name_key)",
      "SELECT 'cells', matrix, label, run_id, axis, value FROM cells JOIN runs USING (run_key) "
      "LEFT JOIN cell_axes USING (cell_key)",
      "SELECT 'environments', fingerprint, name, value FROM environments "
      "LEFT JOIN environment_facts USING (environment_key) LEFT JOIN names USING (name_key)",
      "SELECT 'attempts', run_id, sweep_id, c.matrix, c.label, fingerprint, attempt, state, a.started_utc, wall_ns, "
      "record_sha256, lost_step_lines, load_1m, memory_available_bytes, peak_flops_per_s FROM attempts a "
      "JOIN runs r USING (run_key) JOIN sweeps s USING (sweep_key) JOIN cells c USING (cell_key) "
      "LEFT JOIN environments e USING (environment_key)",
      "SELECT 'attempt_settings', " + attempt +
          ", name, repeats FROM attempt_settings x JOIN names ON name_key = engine_key",
      "SELECT 'attempt_jobs', " + attempt + ", launcher, job, nodes, image FROM attempt_jobs x",
      "SELECT 'metrics', " + attempt + ", name, value FROM metrics x JOIN names USING (name_key)",
      "SELECT 'tags', x.name, run_id, " + attempt + ", author, created_utc FROM tags x JOIN runs USING (run_key)",
      "SELECT 'notes', run_id, " + attempt + ", author, text, created_utc FROM notes x JOIN runs USING (run_key)",
      "SELECT 'baselines', name, kind, author, reason, created_utc, expires_utc, source FROM baselines",
      "SELECT 'baseline_attempts', name, created_utc, " + attempt +
          " FROM baseline_attempts x JOIN baselines USING (baseline_key)",
      "SELECT 'baseline_values', b.name, created_utc, subject, n.name, sample, value FROM baseline_values "
      "JOIN baselines b USING (baseline_key) JOIN names n USING (name_key)",
      "SELECT 'alerts', alert_id, kind, matrix, cell, run_id, metric, ratio, good_sweep_id, bad_sweep_id, detail "
      "FROM alerts",
      "SELECT 'alert_events', alert_id, from_state, to_state, author, e.reason, at_utc FROM alert_events e "
      "JOIN alerts USING (alert_key)",
      "SELECT 'ab_comparisons', comparison_id, purpose, matrix, settings, seed, started_utc, finished_utc "
      "FROM ab_comparisons",
      "SELECT 'ab_sides', comparison_id, side, asked, kind, engine_sha256 FROM ab_sides "
      "JOIN ab_comparisons USING (comparison_key)",
      "SELECT 'ab_pairs', comparison_id, cell, pair, first_side, discard, a.attempt, b.attempt, a_steal_fraction "
      "FROM ab_pairs JOIN ab_comparisons USING (comparison_key) JOIN attempts a ON a.attempt_key = a_attempt_key "
      "JOIN attempts b ON b.attempt_key = b_attempt_key",
      "SELECT 'ab_turns', comparison_id, cell_index, pair, step_log_ratio FROM ab_turns "
      "JOIN ab_comparisons USING (comparison_key)",
      "SELECT 'ab_turn_checks', comparison_id, cell_index, pair, a_cpu_s, b_wall_s, order_log_effect "
      "FROM ab_turn_checks JOIN ab_comparisons USING (comparison_key)",
      "SELECT 'ab_verdicts', comparison_id, cell, metric, verdict, ratio, p, pairs_used FROM ab_verdicts "
      "JOIN ab_comparisons USING (comparison_key)",
      "SELECT 'alert_confirmations', alert_id, position, comparison_id FROM alert_confirmations JOIN alerts USING "
      "(alert_key)",
      "SELECT 'judgements', judgement_id, kind, matrix, made_utc FROM judgements",
      "SELECT 'judgement_lines', judgement_id, position, cell, metric, part, text FROM judgement_lines "
      "JOIN judgements USING (judgement_key)",
      "SELECT 'bisections', matrix, metric, good_commit, bad_commit, started_utc, finished_utc FROM bisections",
      "SELECT 'bisection_steps', bad_commit, step, git_commit, outcome, detail, comparison_id FROM bisection_steps "
      "JOIN bisections USING (bisection_key)",
      "SELECT 'bisection_candidates', bad_commit, position, git_commit FROM bisection_candidates "
      "JOIN bisections USING (bisection_key)",
      "SELECT 'selftest_results', date_utc, version, seed, kind, noise, measure, value, low, high, goal_rule, goal, "
      "met "
      "FROM selftest_results",
      "SELECT 'alert_parts', alert_id, fact, before, after, position, name, ns, share FROM alerts "
      "LEFT JOIN alert_environment USING (alert_key) LEFT JOIN alert_attribution USING (alert_key)"};
  for (const std::string table : {"attempt_arguments", "steps", "traced_steps", "gpu_samples", "attempt_summaries",
                                  "attempt_traffic", "attempt_attention"}) {
    std::string columns;
    Statement info(db, "SELECT name FROM pragma_table_info('" + table + "') WHERE name <> 'attempt_key'");
    while (info.step()) columns += ", " + info.text(0);
    std::string query = "SELECT '" + table + "', ";
    query += attempt;
    queries.push_back(query.append(columns).append(" FROM ").append(table).append(" x"));
  }
  std::vector<std::string> out;
  for (const auto& query : queries) {
    Statement rows(db, query);
    while (rows.step()) {
      std::string line;
      for (int i = 0; i < rows.columns(); ++i) line += (rows.is_null(i) ? "NULL" : rows.text(i)) + "|";
      out.push_back(line);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> rows_of(const fs::path& db, const std::string& table) {
  auto all = contents(db);
  std::erase_if(all, [&](const std::string& line) { return !line.starts_with(table + "|"); });
  return all;
}

class Transfer : public testing::Test {
 protected:
  ScratchFolder scratch_;

  fs::path at(const std::string& name) { return scratch_ / name; }

  // `runs` attempts of a sweep on day `day`, of a separate run, on a machine of this store only.
  void add_sweep(const std::string& store, int day, int runs, const std::string& host) {
    const auto date = "2026-02-0" + std::to_string(day);
    for (int i = 1; i <= runs; ++i) {
      ExampleRun example{.attempt = example_attempt("cell" + std::to_string(day), i)};
      example.run.steps = 6 + day;
      example.environment.hostname = host;
      example.attempt.sweep_id = date + "-" + host;
      example.attempt.started_utc = date + "T12:00:0" + std::to_string(i) + "Z";
      if (day == 2) example.attempt.only = "fsdp=2";
      if (day == 2) example.attempt.words = {.only = {"fsdp=2"}, .set = {"steps=9", "seed=3"}};
      example.attempt.engine_sha256 = "of " + host;
      example.attempt.job = JobPlace{.launcher = "slurm", .job = "17", .nodes = host, .image = "sha256:1"};
      example.attempt.repeats = day;
      write_run_directory(at(store + ".runs") / (host + std::to_string(day)) / std::to_string(i), example);
    }
    auto db = open_database(at(store));
    ingest_tree(db, at(store + ".runs"));
  }
  // One row in every table that the examples leave empty.
  void add_rest(const std::string& store, const std::string& day) {
    auto db = open_database(at(store));
    // Without its power, from which an import would compute a metric.
    db.execute("INSERT INTO gpu_samples SELECT max(attempt_key), 1, 0, 1, 5, 1, 1, -1, 1, 0, 0, 1, 0, 1 FROM attempts");
    db.execute("INSERT INTO attempt_attention SELECT max(attempt_key), 'backward', 'own', 'long' FROM attempts");
    db.execute(
        "INSERT INTO traced_steps SELECT max(attempt_key), 0, 7, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0 "
        "FROM attempts");
    Baseline entry{.name = "main",
                   .author = "ada",
                   .reason = "release",
                   .created_utc = "2026-03-" + day + "T00:00:00Z",
                   .source = "sweep",
                   .attempt_keys = {1, 2}};
    add_baseline(db, entry);
    entry.name = "published";
    entry.attempt_keys.clear();
    entry.values = {{"c", "step_time_s", 0.4}, {"c", "step_time_s", 0.5}};
    add_baseline(db, entry);
    Statement newest(
        db, "SELECT run_id, attempt_key FROM attempts JOIN runs USING (run_key) ORDER BY attempt_key DESC LIMIT 1");
    newest.step();
    const auto said_utc = "2026-03-" + day + "T00:00:00Z";
    record_tag(db, {"before-" + day, newest.text(0), newest.integer(1), "ada", said_utc});
    record_tag(db, {"whole-" + day, newest.text(0), {}, "ada", said_utc});
    record_note(db, {newest.text(0), newest.integer(1), "ada", "the fan was replaced", said_utc});
    record_note(db, {newest.text(0), {}, "bob", "of the run", said_utc});
    auto finding = example_finding("model=" + day);
    finding.environment = {{"kernel", "6.0", "6.1"}};
    finding.attribution = {{"gemm", 5.0, 0.9}};
    finding.confirmation = {"ab-1"};
    record_findings(db, {finding}, "ada", "2026-03-" + day + "T00:00:00Z");
    auto bisection =
        BisectionRecord{.matrix = "m", .metric = "step_time_s", .good_commit = "a", .bad_commit = "c" + day};
    bisection.started_utc = bisection.finished_utc = "2026-03-" + day + "T00:00:00Z";
    bisection.steps = {{"b", StepOutcome::bad, "", "ab-1"}};
    bisection.candidates = {"b", "c"};
    add_bisection(db, bisection);
    add_judgement(db, {.judgement_id = "night-" + day,
                       .kind = JudgementKind::night,
                       .matrix = "m",
                       .made_utc = "2026-03-" + day + "T00:00:00Z",
                       .lines = {{"c", "step_time_s", LedgerPart::answer, "SAME"}}});
    store_selftest(db, {"2026-03-" + day + "T00:00:00Z", "0.1.0", 1},
                   {{SelftestKind::aa, "quiet", "rate", 0.1, 0, 0.2, SelftestGoal{GoalRule::high_at_most, 0.3}},
                    {SelftestKind::power, "quiet", "rate", 0.9, 0.8, 1, {}}});
    db.execute("INSERT INTO alert_outbox VALUES (NULL, 'm" + day + "', 't', '{}', 'waiting', 0, '', '', NULL)");
  }
  // A comparison of two attempts: finished, or interrupted.
  void add_comparison(const std::string& store, const std::string& id, int a, int b, bool finished = true) {
    auto db = open_database(at(store));
    db.execute(
        "INSERT INTO ab_comparisons (comparison_id, purpose, matrix, settings, seed, started_utc, finished_utc) "
        "VALUES ('" +
        id + "', 'compare', 'm', 's', 7, '2026-03-01T00:00:00Z', " + (finished ? "'2026-03-01T01:00:00Z'" : "NULL") +
        ")");
    const std::string key = "(SELECT comparison_key FROM ab_comparisons WHERE comparison_id = '" + id + "')";
    for (const std::string side : {"A", "B"}) {
      db.execute("INSERT INTO ab_sides VALUES (" + key + ", '" + side + "', 'HEAD', 'revision', 'c', '/e', 'sum')");
    }
    db.execute("INSERT INTO ab_pairs VALUES (" + key + ", 'c', 0, 1, 'B', 'none', '', " + std::to_string(a) + ", " +
               std::to_string(b) + ", NULL, NULL, 0.01, 0, 0, 0)");
    db.execute("INSERT INTO ab_turns VALUES (" + key + ", 0, 1, 0.25)");
    db.execute("INSERT INTO ab_turn_checks VALUES (" + key + ", 0, 1, 0.5, 2, 0, 2, 0.01)");
    db.execute("INSERT INTO ab_verdicts VALUES (" + key +
               ", 'c', 0, 'step_time_s', 'SAME', 'equivalent', 'd', 0.02, 1, 1, 1.001, 0.99, 1.01, 0.5, 0.01, 8, 0, "
               "NULL)");
  }
  void fill(const std::string& store, int day, const std::string& host) {
    add_sweep(store, day, 2, host);
    add_sweep(store, day + 1, 3, host);
    add_rest(store, "0" + std::to_string(day));
    add_comparison(store, "ab-" + host, 1, 2);
  }
  ExportReport give(const std::string& store, const std::string& file, const std::string& selection = "all") {
    return export_runs({.db = at(store), .selection = parse_selection(selection), .file = at(file)});
  }
  auto take(const std::string& store, const std::string& file) { return import_runs(at(store), at(file)); }
  std::string error_of_taking(const std::string& store, const std::string& file) {
    try {
      take(store, file);
    } catch (const InputError& e) {
      return e.what();
    }
    return {};
  }
};

TEST_F(Transfer, GivesANewDatabaseEqualContents) {
  fill("a.db", 1, "node1");
  const auto report = give("a.db", "a.perfbench");
  EXPECT_EQ(report.attempts, 5);
  EXPECT_EQ(report.step_rows, 30);
  const auto counts = take("b.db", "a.perfbench");
  EXPECT_EQ(counts.at("attempts").added, 5);
  EXPECT_EQ(counts.at("steps").added, 30);
  EXPECT_EQ(contents(at("b.db")), contents(at("a.db")));
  for (const auto* table : {"sweeps",           "run_fields",         "environments",    "metrics",
                            "gpu_samples",      "traced_steps",       "attempt_traffic", "attempt_attention",
                            "attempt_settings", "baseline_attempts",  "baseline_values", "alert_events",
                            "alert_parts",      "ab_comparisons",     "ab_sides",        "ab_pairs",
                            "ab_turns",         "ab_turn_checks",     "ab_verdicts",     "judgements",
                            "judgement_lines",  "bisections",         "bisection_steps", "bisection_candidates",
                            "selftest_results", "alert_confirmations"}) {
    EXPECT_THAT(rows_of(at("b.db"), table), Not(IsEmpty())) << table;
  }
}

// A new table that no export includes makes this test fail.
TEST_F(Transfer, FillsEveryTableExceptThoseOfOneDatabase) {
  fill("a.db", 1, "node1");
  give("a.db", "a.perfbench");
  take("b.db", "a.perfbench");
  const auto db = open_database(at("b.db"));
  Statement tables(db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  while (tables.step()) {
    const auto table = tables.text(0);
    if (table == "alert_outbox" || table == "running_sweeps") continue;
    // They say how attempts came into this one database.
    if (table == "pushes" || table == "pushed_attempts") continue;
    // A training program fills these: ProgramCommand (tests/harness/cli) exports and imports one.
    if (table == "program_results" || table == "program_notes" || table == "samples") continue;
    EXPECT_TRUE(Statement(db, "SELECT 1 FROM " + table + " LIMIT 1").step()) << table;
  }
}

TEST_F(Transfer, ExportingAnImportGivesTheSameBytes) {
  fill("a.db", 1, "node1");
  fill("a.db", 4, "node2");
  give("a.db", "a.perfbench");
  take("b.db", "a.perfbench");
  give("b.db", "b.perfbench");
  read_archive(at("a.perfbench"), at("a.records"));
  read_archive(at("b.perfbench"), at("b.records"));
  const auto records = read_text(at("a.records"));
  EXPECT_GT(std::count(records.begin(), records.end(), '\n'), 60);
  EXPECT_TRUE(records == read_text(at("b.records")));
}

TEST_F(Transfer, ARepeatedImportChangesNothing) {
  fill("a.db", 1, "node1");
  give("a.db", "a.perfbench");
  take("b.db", "a.perfbench");
  const auto once = contents(at("b.db"));
  for (const auto& [table, count] : take("b.db", "a.perfbench")) EXPECT_EQ(count.added, 0) << table;
  EXPECT_EQ(contents(at("b.db")), once);
  EXPECT_EQ(take("a.db", "a.perfbench").at("attempts").present, 5) << "into the database that it came from";
  EXPECT_EQ(contents(at("a.db")), once);
}

TEST_F(Transfer, InBothDirectionsMakesBothEqual) {
  fill("a.db", 1, "node1");
  fill("b.db", 4, "node2");
  add_sweep("a.db", 7, 2, "shared");
  add_sweep("b.db", 7, 3, "shared");  // the first two are the same attempts
  give("a.db", "a.perfbench");
  give("b.db", "b.perfbench");
  EXPECT_EQ(take("a.db", "b.perfbench").at("attempts").added, 6);
  EXPECT_EQ(take("b.db", "a.perfbench").at("attempts").added, 5);
  EXPECT_EQ(rows_of(at("a.db"), "attempts").size(), 13U);
  EXPECT_EQ(rows_of(at("a.db"), "baselines").size(), 4U);
  EXPECT_EQ(contents(at("a.db")), contents(at("b.db")));
}

TEST_F(Transfer, ASelectionIncludesExactlyTheRowsThatItNeeds) {
  fill("a.db", 1, "node1");
  add_sweep("a.db", 8, 1, "node3");
  EXPECT_EQ(give("a.db", "a.perfbench", "latest").attempts, 1);
  take("b.db", "a.perfbench");
  EXPECT_EQ(rows_of(at("b.db"), "attempts").size(), 1U);
  EXPECT_EQ(rows_of(at("b.db"), "runs").size(), 1U);
  EXPECT_EQ(rows_of(at("b.db"), "sweeps").size(), 1U);
  EXPECT_EQ(rows_of(at("b.db"), "steps").size(), 6U);
  EXPECT_THAT(rows_of(at("b.db"), "metrics"), Not(IsEmpty()));
  EXPECT_THAT(rows_of(at("b.db"), "environments"), testing::Each(HasSubstr("|")));
  for (const auto& line : contents(at("b.db"))) {
    EXPECT_THAT(line, Not(HasSubstr("node1")));
    EXPECT_THAT(contents(at("a.db")), testing::Contains(line));
  }
  for (const auto* table : {"baselines", "alerts", "alert_events"}) {
    EXPECT_THAT(rows_of(at("b.db"), table), IsEmpty()) << table;
  }
}

TEST_F(Transfer, ASelectionIncludesABaselineWithAllItsAttempts) {
  fill("a.db", 1, "node1");
  auto db = open_database(at("a.db"));
  Baseline across{.name = "across",
                  .author = "ada",
                  .reason = "of both sweeps",
                  .created_utc = "2026-03-01T00:00:00Z",
                  .source = "sweep",
                  .attempt_keys = {1, 5}};
  add_baseline(db, across);
  give("a.db", "a.perfbench", "2026-02-01-node1");
  take("b.db", "a.perfbench");
  EXPECT_EQ(rows_of(at("b.db"), "baselines").size(), 1U);
  EXPECT_EQ(rows_of(at("b.db"), "baseline_attempts").size(), 2U);
  EXPECT_THAT(rows_of(at("b.db"), "baselines")[0], HasSubstr("|main|"));
}

TEST_F(Transfer, ASelectionIncludesAFinishedComparisonWithAllItsAttempts) {
  fill("a.db", 1, "node1");  // ab-node1, with attempts 1 and 2
  add_comparison("a.db", "across", 1, 5);
  add_comparison("a.db", "cut-off", 1, 2, false);
  give("a.db", "a.perfbench", "2026-02-01-node1");
  take("b.db", "a.perfbench");
  ASSERT_EQ(rows_of(at("b.db"), "ab_comparisons").size(), 1U);
  EXPECT_THAT(rows_of(at("b.db"), "ab_comparisons")[0], HasSubstr("|ab-node1|"));
  EXPECT_EQ(rows_of(at("b.db"), "ab_sides").size(), 2U);
  EXPECT_EQ(rows_of(at("b.db"), "ab_pairs").size(), 1U);
  EXPECT_EQ(rows_of(at("b.db"), "ab_verdicts").size(), 1U);
}

TEST_F(Transfer, LeavesMessagesToWebhooksWhereTheyAre) {
  fill("a.db", 1, "node1");
  give("a.db", "a.perfbench");
  take("b.db", "a.perfbench");
  const auto db = open_database(at("b.db"));
  Statement count(db, "SELECT count(*) FROM alert_outbox");
  ASSERT_TRUE(count.step());
  EXPECT_EQ(count.integer(0), 0);
}

TEST_F(Transfer, ContradictingAttemptsAreNamedAndNothingChanges) {
  add_sweep("a.db", 1, 2, "node1");
  add_sweep("b.db", 1, 1, "node1");
  open_database(at("b.db")).execute("UPDATE attempts SET record_sha256 = 'other'");
  give("a.db", "a.perfbench");
  const auto before = contents(at("b.db"));
  const auto error = error_of_taking("b.db", "a.perfbench");
  for (const auto& part : {at("a.perfbench").string(), at("b.db").string(), std::string("run_id "),
                           std::string("sweep_id 2026-02-01-node1, attempt 1, started_utc 2026-02-01T12:00:01Z"),
                           std::string("other in the database")}) {
    EXPECT_THAT(error, HasSubstr(part));
  }
  EXPECT_EQ(contents(at("b.db")), before) << "the attempt that does not contradict was imported";
}

TEST_F(Transfer, ADamagedFileLeavesNothingBehind) {
  add_sweep("a.db", 1, 2, "node1");
  give("a.db", "a.perfbench");
  auto bytes = read_text(at("a.perfbench"));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_text(at("a.perfbench"), bytes);
  EXPECT_THAT(error_of_taking("b.db", "a.perfbench"), HasSubstr("is damaged"));
  for (const auto& entry : fs::directory_iterator(scratch_.path())) {
    EXPECT_THAT(entry.path().filename().string(), Not(testing::StartsWith("b.db")));
  }
}

// An export that is running writes to its own file.
TEST_F(Transfer, RemovesWhatAnExportThatWasKilledLeft) {
  add_sweep("a.db", 1, 1, "node1");
  const auto hour_ago = fs::file_time_type::clock::now() - std::chrono::hours(2);
  const std::vector<std::string> old{"a.perfbench.0123456789.records", "a.perfbench.0123456789.records-wal"};
  const std::vector<std::string> kept{"a.perfbench.aaaaaaaaaa.records", "a.perfbench.mine.records",
                                      "c.perfbench.0123456789.records", "a.perfbench.0123456789.records-copy"};
  for (const auto& name : old) write_text(at(name), "x");
  for (const auto& name : kept) write_text(at(name), "x");
  for (const auto& name : old) fs::last_write_time(at(name), hour_ago);
  for (std::size_t i = 1; i < kept.size(); ++i) fs::last_write_time(at(kept[i]), hour_ago);
  give("a.db", "a.perfbench");
  for (const auto& name : old) EXPECT_FALSE(fs::exists(at(name))) << name;
  for (const auto& name : kept) EXPECT_TRUE(fs::exists(at(name))) << name;
}

// However the process ends, no unpacked data stays, because there is never a file of it.
TEST_F(Transfer, UnpacksIntoNoFile) {
  add_sweep("a.db", 1, 2, "node1");
  give("a.db", "a.perfbench");
  const CheckedArchive archive(at("a.perfbench"));
  std::size_t bytes = 0;
  archive.unpack(0, [&](std::string_view piece) {
    bytes += piece.size();
    for (const auto& entry : fs::directory_iterator(scratch_.path())) {
      EXPECT_THAT(entry.path().filename().string(), Not(testing::EndsWith("import")));
    }
  });
  EXPECT_GT(bytes, 1000U);
}

// version2.perfbench is a file of version 2 of the format and is never written again: two sweeps, a comparison, a
// baseline, 60 made-up nights and the alert of one.
TEST_F(Transfer, ReadsAFileOfVersion2) {
  const auto file = fs::path(PERFBENCH_SOURCE_DIR) / "tests/harness/transfer_data/version2.perfbench";
  EXPECT_EQ(read_archive(file, at("records")).version, 2);
  const auto counts = import_runs(at("b.db"), file);
  EXPECT_EQ(counts.at("attempts").added, 78);
  EXPECT_EQ(counts.at("steps").added, 450);
  EXPECT_EQ(counts.at("comparisons").added, 2);
  EXPECT_EQ(counts.at("alerts").added, 1);
  for (const auto& [what, count] : import_runs(at("b.db"), file)) EXPECT_EQ(count.added, 0) << what;
  give("b.db", "b.perfbench");
  read_archive(at("b.perfbench"), at("records of b"));
  EXPECT_EQ(read_text(at("records of b")), read_text(at("records")));
}

// Rows that cannot be read, or could not be imported, are left out and do not affect the rest.
TEST_F(Transfer, LeavesOutAndNamesUnreadableRows) {
  fill("a.db", 1, "node1");  // attempts 1 and 2 have the baseline and the comparison
  open_database(at("a.db")).execute("UPDATE steps SET wall_ns = -5 WHERE step = 3 AND attempt_key = 2");
  const auto report = give("a.db", "a.perfbench");
  EXPECT_EQ(report.attempts, 4);
  EXPECT_THAT(report.left_out,
              testing::UnorderedElementsAre(
                  testing::AllOf(HasSubstr("attempts with attempt_key 2"), HasSubstr("its step"), HasSubstr("wall_ns")),
                  HasSubstr("the row of baselines"), HasSubstr("the row of ab_comparisons")));
  const auto counts = take("b.db", "a.perfbench");
  EXPECT_EQ(counts.at("attempts").added, 4);
  EXPECT_EQ(counts.at("baselines").added, 1);
}

TEST_F(Transfer, AttemptsOutsideASweepKeepTheFirst) {
  for (const auto& [store, day] : {std::pair{"a.db", 1}, {"b.db", 2}}) {
    add_sweep(store, day, 1, "node1");
    open_database(at(store)).execute("UPDATE sweeps SET sweep_id = '', matrix = 'of " + std::string(store) + "'; " +
                                     "UPDATE cells SET matrix = 'of " + store + "'; " +
                                     "DELETE FROM sweep_request_words; DELETE FROM sweep_requests");
  }
  give("a.db", "a.perfbench");
  give("b.db", "b.perfbench");
  take("a.db", "b.perfbench");
  take("b.db", "a.perfbench");
  EXPECT_THAT(rows_of(at("a.db"), "sweeps"),
              testing::ElementsAre("sweeps||of a.db|2026-02-01T12:00:01Z|fsdp=2|imported|"));
  EXPECT_EQ(contents(at("a.db")), contents(at("b.db")));
}

// Merged from a database of an older perfbench, and the other way round.
TEST_F(Transfer, ASweepGetsTheMoreSpecificKind) {
  for (const auto& [store, kind] : {std::pair{"a.db", "night"}, {"b.db", "hand"}, {"c.db", "imported"}}) {
    add_sweep(store, 1, 1, "node1");
    Statement(open_database(at(store)), "UPDATE sweeps SET kind = ?").run(std::string_view(kind));
    give(store, std::string(store) + ".perfbench");
  }
  take("a.db", "b.db.perfbench");
  EXPECT_THAT(rows_of(at("a.db"), "sweeps")[0], HasSubstr("|hand|"));
  take("a.db", "c.db.perfbench");
  EXPECT_THAT(rows_of(at("a.db"), "sweeps")[0], HasSubstr("|hand|"));
  take("c.db", "a.db.perfbench");
  EXPECT_THAT(rows_of(at("c.db"), "sweeps")[0], HasSubstr("|night|"));
}

// Two people judged one alert in two databases: the later judgement counts in both.
TEST_F(Transfer, AlertsKeepAllEventsInTheOrderOfTheirTimes) {
  add_sweep("a.db", 1, 2, "node1");
  add_rest("a.db", "01");
  give("a.db", "a.perfbench");
  take("b.db", "a.perfbench");
  auto a = open_database(at("a.db"));
  auto b = open_database(at("b.db"));
  const auto id = load_alerts(a, AlertScope::all).at(0).alert_id;
  change_alert(a, id, AlertState::fixed, "ada", "reverted", "2026-03-05T00:00:00Z");
  change_alert(b, id, AlertState::acknowledged, "bob", "looking", "2026-03-04T00:00:00Z");
  give("a.db", "a.perfbench");
  give("b.db", "b.perfbench");
  take("a.db", "b.perfbench");
  take("b.db", "a.perfbench");
  EXPECT_EQ(contents(at("a.db")), contents(at("b.db")));
  for (const auto* db : {&a, &b}) {
    EXPECT_EQ(find_alert(*db, id).state(), AlertState::fixed);
    EXPECT_EQ(find_alert(*db, id).events.size(), 3U);
  }
}

// An older entry that is imported later does not replace a newer one.
TEST_F(Transfer, BaselinesKeepTheNewestInForce) {
  add_sweep("a.db", 1, 2, "node1");
  add_rest("a.db", "02");
  add_sweep("b.db", 2, 2, "node1");
  add_rest("b.db", "01");
  give("b.db", "b.perfbench");
  take("a.db", "b.perfbench");
  EXPECT_EQ(find_baseline(open_database(at("a.db")), "main", "2026-04-01T00:00:00Z")->created_utc,
            "2026-03-02T00:00:00Z");
}

TEST_F(Transfer, DoesNotReplaceAFileThatIsNotAnExport) {
  add_sweep("a.db", 1, 1, "node1");
  EXPECT_THROW(give("a.db", "a.db"), InputError);
  EXPECT_THROW(give("a.db", "nowhere/a.perfbench"), InputError);
  give("a.db", "a.perfbench");
  EXPECT_NO_THROW(give("a.db", "a.perfbench"));
}

}  // namespace
}  // namespace perfbench::harness
