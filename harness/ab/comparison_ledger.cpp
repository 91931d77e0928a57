#include "harness/ab/comparison_ledger.h"

#include <map>
#include <stdexcept>

#include "harness/evidence/utc.h"
#include "harness/identity/run_id.h"
#include "harness/run/attempt_execution.h"
#include "harness/store/ingest.h"
#include "harness/store/keys.h"
#include "harness/store/query.h"
#include "harness/store/stored_row.h"

namespace perfbench::harness {
namespace {

void add_side(Connection& db, std::int64_t comparison, Side name, const AbSide& side) {
  Statement(db, "INSERT INTO ab_sides VALUES (?, ?, ?, ?, ?, ?, ?)")
      .run(comparison, spec::enum_name(name), side.asked, spec::enum_name(side.kind), side.commit,
           side.engine.file.string(), engine_sha256(side.engine.file));
}

std::optional<std::int64_t> optional_integer(const Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return row.integer(column);
}

std::optional<double> optional_real(const Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return row.real(column);
}

SideRun side_run(StoredAttempt attempt) {
  return {.attempt_key = attempt.key,
          .state = attempt.state,
          .reason = std::move(attempt.reason),
          .metrics = std::move(attempt.metrics)};
}

SideRun load_side_run(const Connection& db, std::int64_t key) {
  auto attempts = load_attempts(db, std::vector{key});
  if (attempts.size() != 1) {
    refuse_row(db, {"ab_pairs", "attempt_key " + std::to_string(key)},
               db.left_out().empty() ? "there is no such attempt" : *db.left_out().begin());
  }
  return side_run(std::move(attempts.front()));
}

void insert_verdict(Statement& insert, std::int64_t comparison, std::int64_t index, const CellVerdict& cell,
                    const MetricVerdict* metric, const Decision& decision) {
  std::optional<double> margin, a, b, low, high;
  std::optional<std::int64_t> needed;
  if (metric != nullptr) {
    margin = metric->rule.margin_fraction;
    a = metric->a_median;
    b = metric->b_median;
    if (metric->decided.pairs_needed) needed = static_cast<std::int64_t>(*metric->decided.pairs_needed);
  }
  if (decision.ratio_95) {
    low = decision.ratio_95->low;
    high = decision.ratio_95->high;
  }
  const auto used = metric == nullptr ? cell.pairs_used : metric->pairs;
  insert.run(comparison, cell.label, index, metric == nullptr ? std::string() : metric->rule.metric,
             spec::enum_name(decision.verdict), spec::enum_name(decision.reason), decision.detail, margin, a, b,
             decision.ratio, low, high, decision.p, decision.detectable_fraction, static_cast<std::int64_t>(used),
             static_cast<std::int64_t>(cell.pairs_discarded), needed);
}

}  // namespace

void begin_comparison(Connection& db, ComparisonRecord& comparison) {
  Transaction transaction(db);
  Statement(db,
            "INSERT INTO ab_comparisons (comparison_id, purpose, matrix, settings, seed, started_utc) "
            "VALUES (?, ?, ?, ?, ?, ?)")
      .run(comparison.comparison_id, spec::enum_name(comparison.purpose), comparison.matrix, comparison.settings,
           static_cast<std::int64_t>(comparison.seed), utc_now());
  comparison.key = db.last_insert_key();
  add_side(db, comparison.key, Side::a, comparison.a);
  add_side(db, comparison.key, Side::b, comparison.b);
  transaction.commit();
}

std::string last_comparison_utc(const Connection& db, const std::string& matrix, AbPurpose purpose,
                                const std::string& until_utc) {
  Statement row(db,
                "SELECT coalesce(max(started_utc), '') FROM ab_comparisons "
                "WHERE matrix = ? AND purpose = ? AND finished_utc IS NOT NULL AND started_utc <= ?");
  row.with(matrix, spec::enum_name(purpose), until_utc).step();
  return row.text(0);
}

std::optional<ComparisonRecord> unfinished_comparison(const Connection& db, const std::string& settings) {
  Statement row(db,
                "SELECT comparison_key, comparison_id, purpose, matrix, seed FROM ab_comparisons "
                "WHERE settings = ? AND finished_utc IS NULL ORDER BY comparison_key DESC LIMIT 1");
  if (!row.with(settings).step()) return std::nullopt;
  ComparisonRecord out;
  out.key = row.integer(0);
  out.comparison_id = row.text(1);
  out.purpose =
      stored_enum<AbPurpose>(db, {"ab_comparisons", "comparison_id " + out.comparison_id}, "purpose", row.text(2));
  out.matrix = row.text(3);
  out.settings = settings;
  out.seed = static_cast<std::uint64_t>(row.integer(4));
  return out;
}

void add_pair(Connection& db, std::int64_t comparison_key, const std::string& label, const ExecutedPair& pair) {
  Transaction transaction(db);
  Statement(db,
            "INSERT INTO ab_pairs (comparison_key, cell, cell_index, pair, first_side, discard, discarded, "
            "a_attempt_key, b_attempt_key, a_instructions, b_instructions, a_steal_fraction, b_steal_fraction, "
            "a_foreign_fraction, b_foreign_fraction) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .run(comparison_key, label, static_cast<std::int64_t>(pair.cell), static_cast<std::int64_t>(pair.number),
           spec::enum_name(pair.first), spec::enum_name(pair.discard), pair.discarded, pair.a.attempt_key,
           pair.b.attempt_key, pair.a.instructions, pair.b.instructions, pair.a.load.steal_fraction,
           pair.b.load.steal_fraction, pair.a.load.foreign_fraction, pair.b.load.foreign_fraction);
  if (pair.in_turns) {
    Statement(db, "INSERT INTO ab_turns VALUES (?, ?, ?, ?)")
        .run(comparison_key, static_cast<std::int64_t>(pair.cell), static_cast<std::int64_t>(pair.number),
             pair.step_log_ratio);
  }
  transaction.commit();
}

std::vector<ExecutedPair> load_pairs(const Connection& db, std::int64_t comparison_key) {
  Statement rows(db,
                 "SELECT cell_index, pair, first_side, discarded, a_attempt_key, b_attempt_key, a_instructions, "
                 "b_instructions, a_steal_fraction, b_steal_fraction, a_foreign_fraction, b_foreign_fraction, discard, "
                 "t.pair IS NOT NULL, t.step_log_ratio "
                 "FROM ab_pairs LEFT JOIN ab_turns t USING (comparison_key, cell_index, pair) WHERE comparison_key = ? "
                 "ORDER BY cell_index, pair");
  rows.with(comparison_key);
  std::vector<ExecutedPair> out;
  while (rows.step()) {
    const RowName name{"ab_pairs", "comparison_key " + std::to_string(comparison_key) + ", cell_index " + rows.text(0) +
                                       ", pair " + rows.text(1)};
    ExecutedPair pair{.cell = static_cast<std::size_t>(rows.integer(0)),
                      .number = static_cast<std::size_t>(rows.integer(1)),
                      .first = stored_enum<Side>(db, name, "first_side", rows.text(2)),
                      .in_turns = rows.integer(13) != 0,
                      .step_log_ratio = optional_real(rows, 14),
                      .a = load_side_run(db, rows.integer(4)),
                      .b = load_side_run(db, rows.integer(5)),
                      .discard = stored_enum<Discard>(db, name, "discard", rows.text(12)),
                      .discarded = rows.text(3)};
    pair.a.instructions = optional_integer(rows, 6);
    pair.b.instructions = optional_integer(rows, 7);
    pair.a.load = {.steal_fraction = rows.real(8), .foreign_fraction = rows.real(10)};
    pair.b.load = {.steal_fraction = rows.real(9), .foreign_fraction = rows.real(11)};
    out.push_back(std::move(pair));
  }
  return out;
}

std::map<std::string, std::string> facts_of_a(const Connection& db, const std::string& comparison_id,
                                              const std::string& cell) {
  Statement rows(db,
                 "SELECT name, value FROM environment_facts JOIN names USING (name_key) WHERE environment_key = "
                 "(SELECT environment_key FROM ab_pairs p JOIN ab_comparisons USING (comparison_key) "
                 "JOIN attempts a ON a.attempt_key = p.a_attempt_key "
                 "WHERE comparison_id = ? AND cell = ? AND environment_key IS NOT NULL ORDER BY p.pair LIMIT 1)");
  rows.with(comparison_id, cell);
  std::map<std::string, std::string> out;
  while (rows.step()) out[rows.text(0)] = rows.text(1);
  return out;
}

void finish_comparison(Connection& db, std::int64_t comparison_key, const std::vector<CellVerdict>& cells) {
  Transaction transaction(db);
  Statement insert(db,
                   "INSERT INTO ab_verdicts (comparison_key, cell, cell_index, metric, verdict, reason, detail, "
                   "margin_fraction, a_median, b_median, ratio, ratio_low, ratio_high, p, detectable_fraction, "
                   "pairs_used, pairs_discarded, pairs_needed) "
                   "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    if (cells[i].whole) insert_verdict(insert, comparison_key, index, cells[i], nullptr, *cells[i].whole);
    for (const auto& metric : cells[i].metrics) {
      insert_verdict(insert, comparison_key, index, cells[i], &metric, metric.decided.decision);
    }
  }
  Statement(db, "UPDATE ab_comparisons SET finished_utc = ? WHERE comparison_key = ?").run(utc_now(), comparison_key);
  transaction.commit();
}

SideRun store_side_run(Connection& db, const std::filesystem::path& attempt_dir, const AttemptRecord& record) {
  ingest_run_directory(db, attempt_dir);
  const auto key = find_key(db,
                            "SELECT attempt_key FROM attempts JOIN runs USING (run_key) JOIN sweeps USING (sweep_key) "
                            "WHERE run_id = ? AND sweep_id = ? AND attempt = ? AND attempts.started_utc = ?",
                            record.run_id, record.sweep_id, record.attempt, record.started_utc);
  if (!key) throw std::runtime_error("[store] " + attempt_dir.string() + " was taken in and is not there");
  auto run = load_side_run(db, *key);
  run.wall_ns = record.wall_ns;
  return run;
}

}  // namespace perfbench::harness
