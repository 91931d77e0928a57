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

std::vector<NightAnswer> newest_night_answers(const Connection& db, const std::string& now_utc) {
  constexpr std::int64_t kMost = 20;  // of a matrix
  // The last answer that is about all cells is that of the night.
  Statement rows(db,
                 "SELECT matrix, judgement_id, made_utc, (SELECT text FROM judgement_lines l WHERE l.judgement_key = "
                 "n.judgement_key AND part = 'answer' AND cell = '' AND metric = '' ORDER BY position DESC LIMIT 1) "
                 "FROM (SELECT *, row_number() OVER (PARTITION BY matrix ORDER BY made_utc DESC, judgement_key DESC) "
                 "AS age FROM judgements WHERE kind = 'night' AND made_utc <= ?1) n WHERE age <= ?2 ORDER BY made_utc "
                 "DESC, matrix");
  rows.with(now_utc, kMost);
  std::vector<NightAnswer> out;
  while (rows.step()) {
    try {
      const auto verdict =
          stored_enum<Verdict>(db, {"judgements", "judgement_id " + rows.text(1)}, "text", rows.text(3));
      out.push_back({rows.text(0), rows.text(1), rows.text(2), verdict});
    } catch (const UnreadableRow& e) {
      db.leave_out(e.what());
    }
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
