#include "harness/store/ledgers/judgement_ledger.h"

#include "harness/store/columns.h"
#include "harness/store/stored_row.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

std::vector<std::string> texts_of(Statement& rows) {
  std::vector<std::string> out;
  while (rows.step()) out.push_back(rows.text(0));
  return out;
}

}  // namespace

void add_judgement(Connection& db, const Judgement& judgement) {
  const auto id = judgement.judgement_id;
  if (find_key(db, "SELECT judgement_key FROM judgements WHERE judgement_id = ?", id)) return;
  Transaction transaction(db);
  insert_rows(db, "judgements", {}, std::vector{judgement});
  const auto key = db.last_insert_key();
  std::int64_t position = 0;
  for (const auto& line : judgement.lines) {
    insert_rows(db, "judgement_lines", {{"judgement_key", key}, {"position", position++}}, std::vector{line});
  }
  transaction.commit();
}

std::optional<Judgement> find_judgement(const Connection& db, const std::string& judgement_id) {
  Statement row(db, select_sql<Judgement>("judgements", "WHERE judgement_id = ?", ", judgement_key"));
  if (!row.with(judgement_id).step()) return std::nullopt;
  Judgement out;
  try {
    read_columns(row, 0, out);
    out.lines =
        read_rows<LedgerLine>(db, "judgement_lines", {"judgement_key", row.integer(row.columns() - 1)}, "position");
  } catch (const spec::SpecError& e) {
    refuse_row(db, {"judgements", "judgement_id " + judgement_id}, e.what());
  }
  return out;
}

std::vector<std::string> judgement_ids(const Connection& db) {
  Statement rows(db, "SELECT judgement_id FROM judgements ORDER BY made_utc, judgement_key");
  return texts_of(rows);
}

std::vector<std::string> judgements_of_alert(const Connection& db, const std::string& alert_id) {
  Statement rows(db,
                 "SELECT DISTINCT judgement_id FROM judgement_lines JOIN judgements USING (judgement_key) "
                 "WHERE part = 'alert' AND text = ? ORDER BY made_utc, judgement_key");
  rows.with(alert_id);
  return texts_of(rows);
}

}  // namespace perfbench::harness
