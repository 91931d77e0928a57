#include "harness/store/ledgers/comparison_ledger.h"

#include <map>
#include <stdexcept>

#include "harness/judge/comparison_judgement.h"
#include "harness/store/attempts/attempt_keys.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/columns.h"
#include "harness/store/ledgers/judgement_ledger.h"
#include "harness/store/ledgers/stored_comparison.h"
#include "harness/store/queries/query.h"
#include "harness/store/stored_row.h"
#include "harness/system/run_id.h"
#include "harness/system/utc.h"

namespace perfbench::harness {
namespace {

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

// Side runs by key.
std::map<std::int64_t, SideRun> load_side_runs(const Connection& db, const std::vector<std::int64_t>& keys) {
  std::map<std::int64_t, SideRun> out;
  for (auto& attempt : load_attempts(db, keys)) {
    const auto key = attempt.key;
    out[key] = side_run(std::move(attempt));
  }
  for (const auto key : keys) {
    if (out.contains(key)) continue;
    refuse_row(db, {"ab_pairs", "attempt_key " + std::to_string(key)},
               db.left_out().empty() ? "there is no such attempt" : *db.left_out().begin());
  }
  return out;
}

std::vector<std::int64_t> attempts_of(const Connection& db, std::int64_t comparison_key) {
  Statement rows(db,
                 "SELECT a_attempt_key FROM ab_pairs WHERE comparison_key = ?1 UNION "
                 "SELECT b_attempt_key FROM ab_pairs WHERE comparison_key = ?1");
  rows.with(comparison_key);
  std::vector<std::int64_t> out;
  while (rows.step()) out.push_back(rows.integer(0));
  return out;
}

StoredVerdict verdict_row(std::int64_t index, const CellVerdict& cell, const MetricVerdict* metric,
                          const Decision& decision) {
  StoredVerdict out{.cell = cell.label,
                    .cell_index = index,
                    .verdict = std::string(spec::enum_name(decision.verdict)),
                    .reason = std::string(spec::enum_name(decision.reason)),
                    .detail = decision.detail,
                    .ratio = decision.ratio,
                    .p = decision.p,
                    .detectable_fraction = decision.detectable_fraction,
                    .pairs_used = static_cast<std::int64_t>(metric == nullptr ? cell.pairs_used : metric->pairs),
                    .pairs_discarded = static_cast<std::int64_t>(cell.pairs_discarded)};
  if (metric != nullptr) {
    out.metric = metric->rule.metric;
    out.margin_fraction = metric->rule.margin_fraction;
    out.a_median = metric->a_median;
    out.b_median = metric->b_median;
    if (metric->decided.pairs_needed) out.pairs_needed = static_cast<std::int64_t>(*metric->decided.pairs_needed);
  }
  if (decision.ratio_95) {
    out.ratio_low = decision.ratio_95->low;
    out.ratio_high = decision.ratio_95->high;
  }
  return out;
}

}  // namespace

void begin_comparison(Connection& db, ComparisonRecord& comparison) {
  Transaction transaction(db);
  const StoredComparison row{.comparison_id = comparison.comparison_id,
                             .purpose = comparison.purpose,
                             .matrix = comparison.matrix,
                             .settings = comparison.settings,
                             .seed = static_cast<std::int64_t>(comparison.seed),
                             .started_utc = utc_now()};
  insert_rows(db, "ab_comparisons", {}, std::vector{row});
  comparison.key = db.last_insert_key();
  insert_rows(db, "ab_sides", {{"comparison_key", comparison.key}}, std::vector{comparison.a, comparison.b});
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
  const StoredPair row{.cell = label,
                       .cell_index = static_cast<std::int64_t>(pair.cell),
                       .pair = static_cast<std::int64_t>(pair.number),
                       .first_side = pair.first,
                       .discard = pair.discard,
                       .discarded = pair.discarded,
                       .a_instructions = pair.a.instructions,
                       .b_instructions = pair.b.instructions,
                       .a_steal_fraction = pair.a.load.steal_fraction,
                       .b_steal_fraction = pair.b.load.steal_fraction,
                       .a_foreign_fraction = pair.a.load.foreign_fraction,
                       .b_foreign_fraction = pair.b.load.foreign_fraction};
  insert_rows(db, "ab_pairs",
              {{"comparison_key", comparison_key},
               {"a_attempt_key", pair.a.attempt_key},
               {"b_attempt_key", pair.b.attempt_key}},
              std::vector{row});
  if (pair.in_turns) {
    const StoredTurns turns{.cell_index = row.cell_index, .pair = row.pair, .step_log_ratio = pair.step_log_ratio};
    insert_rows(db, "ab_turns", {{"comparison_key", comparison_key}}, std::vector{turns});
    const StoredTurnCheck check{.cell_index = row.cell_index,
                                .pair = row.pair,
                                .a_cpu_s = pair.a.waits.cpu_s,
                                .a_wall_s = pair.a.waits.wall_s,
                                .b_cpu_s = pair.b.waits.cpu_s,
                                .b_wall_s = pair.b.waits.wall_s,
                                .order_log_effect = pair.order_log_effect};
    insert_rows(db, "ab_turn_checks", {{"comparison_key", comparison_key}}, std::vector{check});
  }
  transaction.commit();
}

std::map<std::int64_t, std::string> cell_labels(const Connection& db, std::int64_t comparison_key) {
  Statement rows(db,
                 "SELECT cell_index, cell FROM ab_pairs WHERE comparison_key = ?1 UNION "
                 "SELECT cell_index, cell FROM ab_verdicts WHERE comparison_key = ?1");
  rows.with(comparison_key);
  std::map<std::int64_t, std::string> out;
  while (rows.step()) out[rows.integer(0)] = rows.text(1);
  return out;
}

std::vector<ExecutedPair> load_pairs(const Connection& db, std::int64_t comparison_key) {
  Statement rows(db,
                 "SELECT cell_index, pair, first_side, discarded, a_attempt_key, b_attempt_key, a_instructions, "
                 "b_instructions, a_steal_fraction, b_steal_fraction, a_foreign_fraction, b_foreign_fraction, discard, "
                 "t.pair IS NOT NULL, t.step_log_ratio "
                 "FROM ab_pairs LEFT JOIN ab_turns t USING (comparison_key, cell_index, pair) WHERE comparison_key = ? "
                 "ORDER BY cell_index, pair");
  const auto runs = load_side_runs(db, attempts_of(db, comparison_key));
  std::map<std::pair<std::int64_t, std::int64_t>, StoredTurnCheck> checks;
  for (const auto& check :
       read_rows<StoredTurnCheck>(db, "ab_turn_checks", {"comparison_key", comparison_key}, "pair")) {
    checks[{check.cell_index, check.pair}] = check;
  }
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
                      .a = runs.at(rows.integer(4)),
                      .b = runs.at(rows.integer(5)),
                      .discard = stored_enum<Discard>(db, name, "discard", rows.text(12)),
                      .discarded = rows.text(3)};
    pair.a.instructions = optional_integer(rows, 6);
    pair.b.instructions = optional_integer(rows, 7);
    pair.a.load = {.steal_fraction = rows.real(8), .foreign_fraction = rows.real(10)};
    pair.b.load = {.steal_fraction = rows.real(9), .foreign_fraction = rows.real(11)};
    if (const auto found = checks.find({rows.integer(0), rows.integer(1)}); found != checks.end()) {
      const auto& check = found->second;
      pair.a.waits = {.cpu_s = check.a_cpu_s, .wall_s = check.a_wall_s};
      pair.b.waits = {.cpu_s = check.b_cpu_s, .wall_s = check.b_wall_s};
      pair.order_log_effect = check.order_log_effect;
    }
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

void finish_comparison(Connection& db, const ComparisonRecord& comparison, const std::vector<CellVerdict>& cells,
                       const AbRule& rule) {
  Transaction transaction(db);
  std::vector<StoredVerdict> rows;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    if (cells[i].whole) rows.push_back(verdict_row(index, cells[i], nullptr, *cells[i].whole));
    for (const auto& metric : cells[i].metrics) {
      rows.push_back(verdict_row(index, cells[i], &metric, metric.decided.decision));
    }
  }
  insert_rows(db, "ab_verdicts", {{"comparison_key", comparison.key}}, rows);
  const auto now = utc_now();
  Statement(db, "UPDATE ab_comparisons SET finished_utc = ? WHERE comparison_key = ?").run(now, comparison.key);
  const auto stored = find_comparison(db, comparison.comparison_id, ComparisonParts::without_pairs);
  add_judgement(db, judgement_of(*stored, cells, rule, now));
  transaction.commit();
}

SideRun store_side_run(Connection& db, const std::filesystem::path& attempt_dir, const AttemptRecord& record) {
  ingest_run_directory(db, attempt_dir);
  const auto key = find_attempt(db, name_of(record));
  if (!key) throw std::runtime_error("[store] " + attempt_dir.string() + " was stored but is missing");
  auto run = load_side_runs(db, {*key}).at(*key);
  run.wall_ns = record.wall_ns;
  return run;
}

}  // namespace perfbench::harness
