#include "harness/store/ledgers/stored_comparison.h"

#include <utility>

#include "harness/store/attempts/attempt_keys.h"
#include "harness/store/columns.h"
#include "harness/store/stored_row.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

std::vector<PairOfAttempts> read_pairs(const Connection& db, std::int64_t key) {
  Statement rows(db, select_sql<StoredPair>("ab_pairs", "WHERE comparison_key = ? ORDER BY cell_index, pair",
                                            ", a_attempt_key, b_attempt_key"));
  rows.with(key);
  std::vector<PairOfAttempts> out;
  while (rows.step()) {
    auto& pair = out.emplace_back();
    read_columns(rows, 0, pair.row);
    pair.a = attempt_name(db, rows.integer(rows.columns() - 2));
    pair.b = attempt_name(db, rows.integer(rows.columns() - 1));
  }
  return out;
}

}  // namespace

std::vector<std::string> finished_comparisons(const Connection& db) {
  Statement rows(db,
                 "SELECT comparison_id FROM ab_comparisons WHERE finished_utc IS NOT NULL "
                 "ORDER BY started_utc, comparison_key");
  std::vector<std::string> out;
  while (rows.step()) out.push_back(rows.text(0));
  return out;
}

std::optional<StoredComparison> find_comparison(const Connection& db, const std::string& comparison_id,
                                                ComparisonParts parts) {
  Statement row(db, select_sql<StoredComparison>("ab_comparisons", "WHERE comparison_id = ?", ", comparison_key"));
  if (!row.with(comparison_id).step()) return std::nullopt;
  StoredComparison out;
  out.key = row.integer(row.columns() - 1);
  const std::pair<std::string, std::int64_t> owner{"comparison_key", out.key};
  try {
    read_columns(row, 0, out);
    out.sides = read_rows<StoredSide>(db, "ab_sides", owner, "side");
    if (parts == ComparisonParts::all) {
      out.pairs = read_pairs(db, out.key);
      out.turns = read_rows<StoredTurns>(db, "ab_turns", owner, "cell_index, pair");
      out.turn_checks = read_rows<StoredTurnCheck>(db, "ab_turn_checks", owner, "cell_index, pair");
    }
    out.verdicts = read_rows<StoredVerdict>(db, "ab_verdicts", owner, "cell_index, metric");
  } catch (const spec::SpecError& e) {
    refuse_row(db, {"ab_comparisons", "comparison_id " + comparison_id}, e.what());
  }
  return out;
}

void add_comparison(Connection& db, const StoredComparison& comparison) {
  Transaction transaction(db);
  insert_rows(db, "ab_comparisons", {}, std::vector{comparison});
  const auto key = db.last_insert_key();
  const KeyColumns owner{{"comparison_key", key}};
  insert_rows(db, "ab_sides", owner, comparison.sides);
  for (const auto& pair : comparison.pairs) {
    insert_rows(db, "ab_pairs",
                {{"comparison_key", key},
                 {"a_attempt_key", attempt_key_of(db, pair.a)},
                 {"b_attempt_key", attempt_key_of(db, pair.b)}},
                std::vector{pair.row});
  }
  insert_rows(db, "ab_turns", owner, comparison.turns);
  insert_rows(db, "ab_turn_checks", owner, comparison.turn_checks);
  insert_rows(db, "ab_verdicts", owner, comparison.verdicts);
  transaction.commit();
}

}  // namespace perfbench::harness
