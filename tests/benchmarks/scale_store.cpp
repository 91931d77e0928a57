#include "tests/benchmarks/scale_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/store/ledgers/baseline_ledger.h"
#include "harness/store/queries/query.h"
#include "harness/system/input_error.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;

constexpr double kNightlyFraction = 0.73;
constexpr std::int64_t kMachines = 4;
constexpr std::int64_t kSeriesByHand = 10;  // every tenth cell is also swept by hand
constexpr std::int64_t kSecondsADay = 86'400;
constexpr std::int64_t kFirstDay_s = 1'735'689'600;  // 2025-01-01T00:00:00Z

std::string utc(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

struct Series {
  std::int64_t template_key = 0;  // its ingested attempt
  double sd = 0.01;               // of the log of one run's step time
  double shift_log = 0;           // in the last quarter of the nights
};

class Filler {
 public:
  Filler(Connection& db, const ScaleStore& how) : db_(db), how_(how), random_(how.seed) {
    const auto nightly = static_cast<double>(how.runs) * kNightlyFraction;
    nights_ = std::max<std::int64_t>(1, std::llround(nightly / static_cast<double>(how.series)));
    by_hand_a_day_ = std::max<std::int64_t>(0, how.runs - (nights_ + 1) * how.series) / nights_;
  }

  void fill() {
    // The file is deleted if this fails, and nobody else reads it.
    for (const auto* pragma : {"journal_mode = DELETE", "journal_mode = OFF", "synchronous = OFF", "foreign_keys = OFF",
                               "locking_mode = EXCLUSIVE", "cache_size = -400000"}) {
      db_.execute(std::string("PRAGMA ") + pragma);
    }
    db_.execute(
        "CREATE TEMP TABLE batch (attempt_key INTEGER PRIMARY KEY, template_key INTEGER, sweep_key INTEGER, "
        "attempt INTEGER, started_utc TEXT, record_sha256 TEXT, factor REAL, jitter_ns INTEGER)");
    ingest_templates();
    for (std::int64_t night = 0; night < nights_; ++night) {
      Transaction transaction(db_);
      add_night(night);
      transaction.commit();
      if (night % 20 == 0) fmt::print(stderr, "night {} of {}\n", night + 1, nights_);
    }
    add_baselines();
    add_alerts();
    db_.execute("PRAGMA journal_mode = WAL");
  }

 private:
  // Night 0: a real run directory for each cell of both matrices; those of "by-hand" are also runs of the nightly one.
  void ingest_templates() {
    for (std::int64_t i = 0; i < how_.series; ++i) nightly_.push_back(ingest_template("nightly", i));
    for (std::int64_t i = 0; i < how_.series; i += kSeriesByHand) by_hand_.push_back(ingest_template("by-hand", i));
  }

  Series ingest_template(const std::string& matrix, std::int64_t i) {
    std::normal_distribution<double> normal;
    const auto steps = static_cast<std::size_t>(std::max<std::int64_t>(1, how_.steps / how_.runs));
    ExampleRun example{.attempt = example_attempt(fmt::format("model=m{} batch={}", i % 40, 1 + i / 40), 1)};
    example.run.global_batch = 1 + i;
    example.run.steps = static_cast<std::int64_t>(steps);
    example.environment.hostname = "node" + std::to_string(i % kMachines);
    example.environment.cpu_model = "Example CPU " + std::to_string(3000 + i % kMachines);
    example.attempt.matrix = matrix;
    example.attempt.axes = {{"model", "m" + std::to_string(i % 40)}, {"batch", std::to_string(1 + i / 40)}};
    example.attempt.sweep_id = matrix + "-000";
    example.attempt.sweep_kind = kind_of(matrix);
    example.attempt.started_utc = utc(kFirstDay_s - kSecondsADay + i);
    const double level = 0.2 * std::exp(normal(random_));
    example.step_s.clear();
    for (std::size_t step = 0; step < steps; ++step) {
      example.step_s.push_back(level * (step == 0 ? 1.8 : std::exp(0.01 * normal(random_))));
    }
    const ScratchFolder folder;
    write_run_directory(folder.path(), example);
    ingest_run_directory(db_, folder.path());
    return {.template_key = next_key_++,
            .sd = 0.003 + 0.02 * std::abs(normal(random_)),
            .shift_log = i % 100 == 7 ? 0.05 : 0.0};
  }

  static SweepKind kind_of(const std::string& matrix) {
    return matrix == "by-hand" ? SweepKind::hand : SweepKind::night;
  }

  std::int64_t add_sweep(const std::string& id, const std::string& matrix, std::int64_t started_s) {
    Statement(db_, "INSERT INTO sweeps (sweep_id, matrix, started_utc, kind) VALUES (?, ?, ?, ?)")
        .run(id, matrix, utc(started_s), spec::enum_name(kind_of(matrix)));
    return db_.last_insert_key();
  }

  void add_night(std::int64_t night) {
    const auto started_s = kFirstDay_s + night * kSecondsADay;
    std::normal_distribution<double> normal;
    const double of_night = 0.005 * normal(random_);
    db_.execute("DELETE FROM temp.batch");
    Statement attempt(db_, "INSERT INTO temp.batch VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    const auto add = [&](const Series& series, std::int64_t sweep, std::int64_t at_s) {
      const bool shifted = night >= nights_ - nights_ / 4;
      const double log = of_night + series.sd * normal(random_) + (shifted ? series.shift_log : 0.0);
      const auto key = next_key_++;
      attempt.run(key, series.template_key, sweep, std::int64_t{1} + night, utc(at_s),
                  fmt::format("{:064x}", random_()), std::exp(log), static_cast<std::int64_t>(random_() % 100'000));
    };
    const auto sweep = add_sweep(fmt::format("nightly-{:03}", night + 1), "nightly", started_s);
    std::int64_t at_s = started_s;
    for (const auto& series : nightly_) add(series, sweep, ++at_s);
    if (by_hand_a_day_ > 0) {
      const auto by_hand = add_sweep(fmt::format("by-hand-{:03}", night + 1), "by-hand", started_s + kSecondsADay / 2);
      at_s = started_s + kSecondsADay / 2;
      for (std::int64_t i = 0; i < by_hand_a_day_; ++i) add(by_hand_[random_() % by_hand_.size()], by_hand, ++at_s);
    }
    copy_templates();
  }

  // Copies rows of every table of attempts from the template, with the batch's values in place of its own.
  void copy_templates() {
    const std::string time = "CAST(t.wall_ns * b.factor AS INTEGER) + (b.jitter_ns * (t.step + 1)) % 100003";
    copy("attempts", {{"attempt_key", "b.attempt_key"},
                      {"sweep_key", "b.sweep_key"},
                      {"attempt", "b.attempt"},
                      {"started_utc", "b.started_utc"},
                      {"record_sha256", "b.record_sha256"}});
    copy("steps", {{"attempt_key", "b.attempt_key"},
                   {"wall_ns", time},
                   {"forward_ns", "CAST(t.forward_ns * b.factor AS INTEGER)"},
                   {"backward_ns", "CAST(t.backward_ns * b.factor AS INTEGER)"},
                   {"optimizer_ns", "CAST(t.optimizer_ns * b.factor AS INTEGER)"}});
    copy("metrics", {{"attempt_key", "b.attempt_key"}, {"value", "t.value * b.factor"}});
    for (const auto* table : {"attempt_arguments", "attempt_summaries", "attempt_traffic"}) {
      copy(table, {{"attempt_key", "b.attempt_key"}});
    }
  }

  void copy(const std::string& table, const std::map<std::string, std::string>& changed) {
    std::string columns;
    std::string values;
    Statement info(db_, "SELECT name FROM pragma_table_info(?)");
    info.with(table);
    while (info.step()) {
      const auto name = info.text(0);
      const auto found = changed.find(name);
      columns += (columns.empty() ? "" : ", ") + name;
      values += (values.empty() ? "" : ", ") + (found == changed.end() ? "t." + name : found->second);
    }
    db_.execute("INSERT INTO " + table + " (" + columns + ") SELECT " + values + " FROM temp.batch b CROSS JOIN " +
                table + " t ON t.attempt_key = b.template_key ORDER BY b.attempt_key");
  }

  void add_baselines() {
    Baseline entry{.name = "main",
                   .kind = BaselineKind::rolling,
                   .author = "ada",
                   .reason = "last week",
                   .created_utc = utc(kFirstDay_s + nights_ * kSecondsADay),
                   .source = "night"};
    Statement rows(db_, "SELECT attempt_key FROM attempts JOIN sweeps USING (sweep_key) WHERE sweep_id = ?");
    rows.with(fmt::format("nightly-{:03}", std::max<std::int64_t>(0, nights_ - 7)));
    while (rows.step()) entry.attempt_keys.push_back(rows.integer(0));
    add_baseline(db_, entry);
  }

  void add_alerts() {
    std::vector<Finding> findings;
    for (std::int64_t night = 1; night < nights_; ++night) {
      for (std::int64_t i = 0; i < how_.alerts_a_night; ++i) {
        Finding finding;
        finding.series = {"nightly", fmt::format("cell{}-{}", night, i), std::string(64, 'a'), "step_time_s", "m"};
        finding.ratio = 1.05;
        finding.last_good = {fmt::format("nightly-{:03}", night), utc(kFirstDay_s + (night - 1) * kSecondsADay), "r1"};
        finding.first_bad = {fmt::format("nightly-{:03}", night + 1), utc(kFirstDay_s + night * kSecondsADay), "r2"};
        finding.seen_utc = finding.first_bad.started_utc;
        finding.detail = "step_time_s rose by 5 %";
        finding.environment = {{"kernel", "6.0", "6.1"}};
        finding.attribution = {{"gemm", 5e6, 0.8}, {"norm", 1e6, 0.1}, {"all_reduce dp", 5e5, 0.05}};
        findings.push_back(std::move(finding));
      }
    }
    record_findings(db_, findings, "perfbench nightly", utc(kFirstDay_s + nights_ * kSecondsADay));
    // All but those of the last month have been judged.
    db_.execute(
        fmt::format("INSERT INTO alert_events (alert_key, from_state, to_state, author, reason, at_utc) "
                    "SELECT alert_key, 'open', 'fixed', 'ada', 'reverted', '{}' FROM alerts "
                    "ORDER BY alert_key LIMIT {}",
                    utc(kFirstDay_s + (nights_ + 1) * kSecondsADay),
                    std::max<std::int64_t>(0, nights_ - 30) * how_.alerts_a_night));
  }

  Connection& db_;
  ScaleStore how_;
  std::mt19937_64 random_;
  std::int64_t nights_ = 1;
  std::int64_t by_hand_a_day_ = 0;  // attempts
  std::int64_t next_key_ = 1;
  std::vector<Series> nightly_;
  std::vector<Series> by_hand_;
};

}  // namespace

void fill_scale_store(const fs::path& path, const ScaleStore& how) {
  if (fs::exists(path)) throw InputError(path.string() + " exists: name a new file");
  auto db = open_database(path);
  Filler(db, how).fill();
}

}  // namespace perfbench::harness
