#include "harness/store/attempts/prune.h"

#include <fmt/core.h>

#include <chrono>
#include <system_error>
#include <vector>

#include "harness/store/attempts/evidence_place.h"
#include "harness/store/queries/series.h"
#include "harness/store/queries/sweeps.h"
#include "harness/system/input_error.h"
#include "harness/system/utc.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

std::string days_before(const std::string& now_utc, std::int64_t days) {
  return on_day(now_utc, std::chrono::sys_days(day_of(now_utc)) - std::chrono::days(days));
}

class Pruning {
 public:
  Pruning(Connection& db, const PruneRequest& request) : db_(db), request_(request) {
    db_.execute(
        "CREATE TABLE temp.kept (attempt_key INTEGER PRIMARY KEY, reason INTEGER NOT NULL);"
        "CREATE TABLE temp.gone (attempt_key INTEGER PRIMARY KEY)");
  }
  ~Pruning() {
    try {
      db_.execute("DROP TABLE IF EXISTS temp.kept; DROP TABLE IF EXISTS temp.gone");
    } catch (const StoreError&) {  // the connection is not usable any more, and the caller already gets an error
    }
  }
  Pruning(const Pruning&) = delete;
  Pruning& operator=(const Pruning&) = delete;

  PruneResult run() {
    PruneResult out;
    std::vector<fs::path> folders;
    {
      Transaction transaction(db_);
      choose();
      count(out);
      if (request_.evidence == PruneEvidence::remove) folders = evidence(out);
      const auto free_before = pragma("freelist_count");
      remove_rows();
      out.database_bytes = (pragma("freelist_count") - free_before) * pragma("page_size");
      if (request_.act == PruneDo::say) return out;
      transaction.commit();
    }
    for (const auto& folder : folders) remove_folder(folder, out);
    if (out.attempts > 0) shrink(out);
    return out;
  }

 private:
  std::int64_t pragma(const std::string& name) {
    Statement statement(db_, "PRAGMA " + name);
    return statement.step() ? statement.integer(0) : 0;
  }

  std::int64_t number(const std::string& sql) {
    Statement statement(db_, sql);
    statement.step();
    return statement.integer(0);
  }

  // `attempts` is a condition on the attempts a.
  template <class... T>
  void keep(KeptFor reason, const std::string& attempts, const T&... values) {
    Statement(db_, "INSERT OR IGNORE INTO temp.kept SELECT a.attempt_key, ?1 FROM attempts a WHERE " + attempts)
        .run(static_cast<std::int64_t>(reason), values...);
  }

  static std::string of_sweeps(const std::string& condition) {
    return "a.sweep_key IN (SELECT sweep_key FROM sweeps WHERE " + condition + ")";
  }

  // In the order of KeptFor: the first rule that keeps an attempt gives the reason.
  void choose() {
    keep(KeptFor::baseline, "a.attempt_key IN (SELECT attempt_key FROM baseline_attempts)");
    keep(KeptFor::alert, of_sweeps("sweep_id <> '' AND sweep_id IN (SELECT good_sweep_id FROM alerts UNION "
                                   "SELECT bad_sweep_id FROM alerts UNION "
                                   "SELECT comparison_id FROM alert_confirmations)"));
    keep(KeptFor::comparison,
         "a.attempt_key IN (SELECT a_attempt_key FROM ab_pairs UNION SELECT b_attempt_key FROM ab_pairs) OR " +
             of_sweeps("sweep_id IN (SELECT comparison_id FROM ab_comparisons)"));
    for (const auto& [reason, table] : {std::pair{KeptFor::tag, "tags"}, {KeptFor::note, "notes"}}) {
      keep(reason, fmt::format("a.attempt_key IN (SELECT attempt_key FROM {0}) OR a.run_key IN (SELECT run_key FROM "
                               "{0} WHERE attempt_key IS NULL)",
                               table));
    }
    keep_history();
    if (request_.rule.keep_days) {
      keep(KeptFor::recent, "a.started_utc >= ?2", days_before(request_.now_utc, *request_.rule.keep_days));
    } else {
      keep(KeptFor::no_sweep, of_sweeps("sweep_id = ''"));
    }
    if (request_.rule.keep_sweeps) {
      // Kinds that are measured for their own sake form one sequence.
      keep(KeptFor::newest,
           "a.sweep_key IN (SELECT sweep_key FROM (SELECT sweep_key, row_number() OVER (PARTITION BY matrix, CASE "
           "WHEN " +
               kind_condition("kind", SweepsOf::measurement) +
               " THEN 'measurement' ELSE kind END ORDER BY started_utc DESC, sweep_key DESC) AS age FROM sweeps "
               "WHERE sweep_id <> '') WHERE age <= ?2)",
           *request_.rule.keep_sweeps);
    }
    db_.execute(
        "INSERT INTO temp.gone SELECT attempt_key FROM attempts WHERE attempt_key NOT IN "
        "(SELECT attempt_key FROM temp.kept)");
  }

  // Nights with a date in the future stay, too, because no screen has used them yet.
  void keep_history() {
    const HistoryQuery query{.now_utc = request_.now_utc};
    for (const auto key : load_night_keys(db_, query)) keep(KeptFor::history, "a.sweep_key = ?2", key);
    for (const auto& night : load_future_nights(db_, query)) keep_sweep(night.sweep_id);
    if (const auto first = first_night_of_control(db_, request_.now_utc)) keep_sweep(first->sweep_id);
  }
  void keep_sweep(const std::string& sweep_id) { keep(KeptFor::history, of_sweeps("sweep_id = ?2"), sweep_id); }

  void count(PruneResult& out) {
    out.attempts = number("SELECT count(*) FROM temp.gone");
    out.step_rows = number("SELECT count(*) FROM temp.gone JOIN steps USING (attempt_key)");
    Statement reasons(db_, "SELECT reason, count(*) FROM temp.kept GROUP BY reason");
    while (reasons.step()) out.kept[static_cast<KeptFor>(reasons.integer(0))] = reasons.integer(1);
  }

  // Tables whose rows are parts of an attempt, with the column that names the attempt, which is the first one of their
  // primary key.
  std::vector<std::pair<std::string, std::string>> parts_of_attempts() const {
    Statement rows(db_,
                   "SELECT t.name, f.\"from\" FROM sqlite_schema t, pragma_foreign_key_list(t.name) f "
                   "JOIN pragma_table_info(t.name) c ON c.name = f.\"from\" "
                   "WHERE t.type = 'table' AND f.\"table\" = 'attempts' AND c.pk = 1");
    std::vector<std::pair<std::string, std::string>> out;
    while (rows.step()) out.emplace_back(rows.text(0), rows.text(1));
    return out;
  }

  // Removes first the rows of parts, then attempts, then rows to which only they referred.
  void remove_rows() {
    for (const auto& [table, column] : parts_of_attempts()) {
      db_.execute(fmt::format("DELETE FROM \"{}\" WHERE \"{}\" IN (SELECT attempt_key FROM temp.gone)", table, column));
    }
    db_.execute(
        "DELETE FROM attempts WHERE attempt_key IN (SELECT attempt_key FROM temp.gone);"
        "DELETE FROM sweep_request_words WHERE request_key IN (SELECT request_key FROM sweep_requests "
        "JOIN sweeps USING (sweep_id) WHERE sweep_key NOT IN (SELECT sweep_key FROM attempts));"
        "DELETE FROM sweep_requests WHERE sweep_id IN (SELECT sweep_id FROM sweeps WHERE sweep_key NOT IN "
        "(SELECT sweep_key FROM attempts));"
        "DELETE FROM sweep_selections WHERE sweep_key NOT IN (SELECT sweep_key FROM attempts);"
        "DELETE FROM sweeps WHERE sweep_key NOT IN (SELECT sweep_key FROM attempts);"
        "DELETE FROM cell_axes WHERE cell_key NOT IN (SELECT cell_key FROM attempts);"
        "DELETE FROM cells WHERE cell_key NOT IN (SELECT cell_key FROM attempts);"
        "DELETE FROM run_fields WHERE run_key IN (SELECT run_key FROM runs WHERE run_key NOT IN "
        "(SELECT run_key FROM attempts UNION SELECT run_key FROM tags UNION SELECT run_key FROM notes));"
        "DELETE FROM runs WHERE run_key NOT IN "
        "(SELECT run_key FROM attempts UNION SELECT run_key FROM tags UNION SELECT run_key FROM notes);"
        "DELETE FROM environment_facts WHERE environment_key NOT IN "
        "(SELECT environment_key FROM attempts WHERE environment_key IS NOT NULL);"
        "DELETE FROM environments WHERE environment_key NOT IN "
        "(SELECT environment_key FROM attempts WHERE environment_key IS NOT NULL)");
  }

  std::vector<fs::path> evidence(PruneResult& out) {
    std::vector<fs::path> folders;
    EvidencePlaces places(db_, request_.runs);
    Statement rows(db_, "SELECT attempt_key FROM temp.gone");
    while (rows.step()) {
      const auto folder = places.of(rows.integer(0));
      if (!folder || is_link(*folder) || is_link(folder->parent_path())) continue;
      ++out.evidence_folders;
      out.evidence_bytes += bytes_of(*folder);
      folders.push_back(*folder);
    }
    return folders;
  }

  static bool is_link(const fs::path& path) {
    std::error_code none;
    return fs::is_symlink(fs::symlink_status(path, none));
  }

  static std::int64_t bytes_of(const fs::path& folder) {
    std::int64_t bytes = 0;
    std::error_code none;
    for (const auto& entry : fs::recursive_directory_iterator(folder, none)) {
      if (!fs::is_regular_file(entry.symlink_status(none))) continue;
      const auto size = entry.file_size(none);
      if (!none) bytes += static_cast<std::int64_t>(size);
    }
    return bytes;
  }

  // remove_all removes links and not their targets.
  static void remove_folder(const fs::path& folder, PruneResult& out) {
    std::error_code error;
    fs::remove_all(folder, error);
    if (error) {
      out.problems.push_back(fmt::format("{} could not be removed: {}", folder.string(), error.message()));
      return;
    }
    fs::remove(folder.parent_path(),
               error);  // the folder of the run, if that was its last attempt: only an empty folder can be removed
  }

  void shrink(PruneResult& out) {
    try {
      db_.execute("VACUUM");
      Statement(db_, "PRAGMA wal_checkpoint(TRUNCATE)").step();
    } catch (const StoreError& e) {
      out.problems.push_back(fmt::format("the rows are removed, but the file keeps its size: {}", e.what()));
    }
  }

  Connection& db_;
  const PruneRequest& request_;
};

}  // namespace

PruneResult prune(Connection& db, const PruneRequest& request) {
  if (!request.rule.keep_sweeps && !request.rule.keep_days) {
    throw InputError("[prune] say what to keep: give --keep-sweeps N, --keep-days N or both");
  }
  return Pruning(db, request).run();
}

}  // namespace perfbench::harness
