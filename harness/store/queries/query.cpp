#include "harness/store/queries/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>

#include "harness/store/attempts/subject_reader.h"
#include "harness/store/columns.h"
#include "harness/store/queries/names.h"
#include "harness/store/queries/sweeps.h"
#include "harness/store/stored_row.h"
#include "harness/system/input_error.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

Selection parse_run(const std::string& text, const std::string& id, SelectionKind kind) {
  if (!is_run_id_start(id)) {
    throw InputError("[store] '" + text + "': a run is named by the first 6 to 64 hex digits of its id");
  }
  return {.kind = kind, .id = id};
}

Selection parse_attempt_selection(const std::string& text, const std::string& rest) {
  const auto slash = rest.find('/');
  auto out = parse_run(text, rest.substr(0, slash), SelectionKind::attempt);
  const auto number = slash == std::string::npos ? std::string() : rest.substr(slash + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), out.attempt);
  if (number.empty() || error != std::errc() || end != number.data() + number.size() || out.attempt < 1) {
    throw InputError("[store] '" + text + "': an attempt is named attempt:<start of the run id>/<number from 1>");
  }
  return out;
}

constexpr int kFirstFlopColumn = 14;

std::string flop_columns() {
  return column_list(columns_of<spec::FlopCounts>(), "m.flops_");
}

std::optional<spec::FlopCounts> flops_of(const Statement& rows) {
  if (rows.is_null(kFirstFlopColumn)) return std::nullopt;  // no summary
  spec::FlopCounts flops;
  read_columns(rows, kFirstFlopColumn, flops);
  return flops;
}

// Data that several attempts share is read once.
class AttemptReader {
 public:
  explicit AttemptReader(const Connection& db)
      : db_(db),
        run_(db, "SELECT run_id, run_json FROM runs WHERE run_key = ?"),
        environments_(db),
        peaks_(db, environments_),
        subjects_(db),
        attention_(db,
                   "SELECT direction, computed_by, reason FROM attempt_attention WHERE attempt_key = ? "
                   "ORDER BY direction DESC"),
        metrics_(db, "SELECT metric, value FROM metric_values WHERE attempt_key = ?") {}

  // The columns and joins that read() expects.
  static std::string sql(const std::string& where) {
    return "SELECT a.attempt_key, r.run_id, a.attempt, a.state, a.reason, s.sweep_id, c.matrix, c.label, "
           "a.started_utc, a.lost_step_lines, a.run_key, a.environment_key, "
           "coalesce(m.emulated, 0), s.kind, " +
           flop_columns() +
           " FROM attempts a JOIN runs r USING (run_key) JOIN sweeps s USING (sweep_key) "
           "JOIN cells c USING (cell_key) LEFT JOIN attempt_summaries m USING (attempt_key) WHERE " +
           where;
  }
  static constexpr const char* kInOrder = " ORDER BY a.started_utc, a.attempt_key";

  // Leaves out rows that cannot be understood.
  std::vector<StoredAttempt> read(Statement& rows) {
    std::vector<StoredAttempt> out;
    while (rows.step()) {
      try {
        out.push_back(read_one(rows));
      } catch (const UnreadableRow& e) {
        db_.leave_out(e.what());
      }
    }
    return out;
  }

 private:
  StoredAttempt read_one(const Statement& row) {
    StoredAttempt attempt;
    attempt.key = row.integer(0);
    attempt.run_id = row.text(1);
    attempt.attempt = row.integer(2);
    const RowName name{.table = "attempts", .row = row_text(attempt)};
    attempt.state = stored_enum<AttemptState>(db_, name, "state", row.text(3));
    attempt.reason = row.text(4);
    attempt.sweep_id = row.text(5);
    attempt.matrix = row.text(6);
    attempt.cell = row.text(7);
    attempt.started_utc = row.text(8);
    attempt.lost_step_lines = row.integer(9);
    attempt.run = run(row.integer(10));
    if (!row.is_null(11)) {
      attempt.environment = environments_.of(row.integer(11));
      if (attempt.run->device == spec::Device::cpu && !attempt.run->program)
        attempt.cpu_peak = peaks_.of(row.integer(11));
    }
    attempt.emulated = row.integer(12) != 0;
    attempt.subject = subjects_.of({.attempt_key = attempt.key,
                                    .sweep_id = attempt.sweep_id,
                                    .kind = stored_enum<SweepKind>(db_, name, "kind of its sweep", row.text(13)),
                                    .environment = attempt.environment});
    attempt.flops = flops_of(row);
    if (attempt.run->device == spec::Device::cuda) read_attention(attempt, name.row);
    metrics_.with(attempt.key);
    while (metrics_.step()) {
      attempt.metrics[metrics_.text(0)] =
          stored_number(db_, {.table = "metrics", .row = name.row}, metrics_.text(0), metrics_.real(1));
    }
    return attempt;
  }

  void read_attention(StoredAttempt& attempt, const std::string& row) {
    const RowName name{.table = "attempt_attention", .row = row};
    attention_.with(attempt.key);
    while (attention_.step()) {
      attempt.attention_kernels.push_back(
          {.direction = stored_enum<spec::AttentionDirection>(db_, name, "direction", attention_.text(0)),
           .computed_by = stored_enum<spec::ComputedBy>(db_, name, "computed_by", attention_.text(1)),
           .reason = attention_.text(2)});
    }
  }

  static std::string row_text(const StoredAttempt& attempt) {
    return "attempt_key " + std::to_string(attempt.key) + " (attempt " + std::to_string(attempt.attempt) + " of run " +
           attempt.run_id.substr(0, 16) + ")";
  }

  std::shared_ptr<const spec::RunSpec> run(std::int64_t key) {
    auto& known = runs_[key];
    if (known) return known;
    run_.with(key).step();
    known = std::make_shared<const spec::RunSpec>(
        stored_run(db_, {.table = "runs", .row = "run_id " + run_.text(0)}, run_.text(1)));
    return known;
  }

  const Connection& db_;
  Statement run_;
  EnvironmentReader environments_;
  ClassPeakReader peaks_;
  SubjectReader subjects_;
  Statement attention_;
  Statement metrics_;
  std::map<std::int64_t, std::shared_ptr<const spec::RunSpec>> runs_;
};

template <class... T>
std::vector<StoredAttempt> load_where(const Connection& db, const std::string& where, const T&... values) {
  AttemptReader reader(db);
  Statement rows(db, AttemptReader::sql(where) + AttemptReader::kInOrder);
  rows.with(values...);
  return reader.read(rows);
}

std::vector<StoredAttempt> load_sweep(const Connection& db, const std::string& id) {
  auto out = load_where(db, "s.sweep_id = ?", id);
  if (!out.empty() || !db.left_out().empty()) return out;
  throw InputError("[store] " + db.path().string() + " has no sweep '" + id + "'" +
                   spec::suggestion(id, newest_sweep_ids(db, kSweepsLookedAt)) +
                   "; 'latest', 'all', run:ID and attempt:ID/N also select attempts");
}

std::string whole_run_id(const Connection& db, const std::string& start) {
  // Uses a range and not LIKE, so that the index is used. 'g' follows every hex digit.
  Statement runs(db, "SELECT run_id FROM runs WHERE run_id >= ?1 AND run_id < ?1 || 'g' LIMIT 2");
  runs.with(start);
  if (!runs.step()) throw InputError("[store] " + db.path().string() + " has no run whose id begins with " + start);
  const auto found = runs.text(0);
  if (runs.step()) {
    throw InputError("[store] several runs begin with " + start + ": " + found + " and " + runs.text(0) +
                     "; give more digits");
  }
  return found;
}

}  // namespace

bool is_run_id_start(const std::string& text) {
  constexpr std::size_t kShortest = 6;
  constexpr std::size_t kWhole = 64;
  return text.size() >= kShortest && text.size() <= kWhole &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Selection parse_selection(const std::string& text) {
  const auto at = std::min(text.rfind('@'), text.size());
  const auto name = text.substr(0, at);
  Selection out{.kind = SelectionKind::sweep, .id = name};
  if (name == "latest") out = {};
  if (name == "all") out = {.kind = SelectionKind::all};
  if (name.starts_with("run:")) out = parse_run(text, name.substr(4), SelectionKind::run);
  if (name.starts_with("attempt:")) out = parse_attempt_selection(text, name.substr(8));
  if (at == text.size()) return out;
  out.subject = text.substr(at + 1);
  if (out.subject.empty()) {
    throw InputError("[store] '" + text +
                     "': a subject is missing after the @, such as a commit, 'inject' or 'side B'");
  }
  return out;
}

std::optional<std::string> newest_sweep(const Connection& db, const std::string& matrix) {
  // A sweep that was killed before its first attempt has a request, but no row in sweeps.
  Statement sweeps(db,
                   "SELECT sweep_id, begun_utc AS at, 1 AS asked, request_key AS key FROM sweep_requests "
                   "WHERE matrix = ?1 UNION ALL SELECT sweep_id, started_utc, 0, sweep_key FROM sweeps s "
                   "WHERE matrix = ?1 AND sweep_id <> '' AND " +
                       kind_condition("kind", SweepsOf::resumption) +
                       " AND NOT EXISTS (SELECT 1 FROM sweep_requests r WHERE r.sweep_id = s.sweep_id) "
                       "ORDER BY at DESC, asked DESC, key DESC LIMIT 1");
  if (!sweeps.with(matrix).step()) return std::nullopt;
  return sweeps.text(0);
}

std::vector<MatrixSweep> newest_sweeps(const Connection& db) {
  Statement sweeps(db, "SELECT matrix, sweep_id FROM sweeps WHERE sweep_id <> '' AND " +
                           kind_condition("kind", SweepsOf::measurement) +
                           " ORDER BY started_utc DESC, sweep_key DESC");
  std::vector<MatrixSweep> out;
  std::set<std::string> known;
  while (sweeps.step()) {
    if (known.insert(sweeps.text(0)).second) out.push_back({sweeps.text(0), sweeps.text(1)});
  }
  return out;
}

bool has_any_sweep(const Connection& db) {
  return Statement(db, "SELECT 1 FROM sweeps LIMIT 1").step();
}

bool has_sweep_of(const Connection& db, SweepKind kind) {
  Statement sweep(db, "SELECT 1 FROM sweeps WHERE kind = ? LIMIT 1");
  sweep.bind(1, spec::enum_name(kind));
  return sweep.step();
}

bool is_of_a_part(const Connection& db, const std::string& sweep_id) {
  Statement selection(db, "SELECT 1 FROM sweep_selections JOIN sweeps USING (sweep_key) WHERE sweep_id = ?");
  return selection.with(sweep_id).step();
}

SweepSettings sweep_settings(const Connection& db, const std::string& sweep_id) {
  Statement rows(db,
                 "SELECT name, max(repeats) FROM sweeps JOIN attempts USING (sweep_key) "
                 "JOIN attempt_settings USING (attempt_key) JOIN names ON name_key = engine_key "
                 "WHERE sweep_id = ? GROUP BY name ORDER BY name");
  rows.with(sweep_id);
  SweepSettings out;
  while (rows.step()) {
    out.engines.push_back(rows.text(0));
    out.repeats = std::max(out.repeats, rows.integer(1));
  }
  return out;
}

std::int64_t count_attempts(const Connection& db, const std::string& sweep_id, const std::string& run_id,
                            AttemptState state) {
  Statement count(db,
                  "SELECT count(*) FROM attempts JOIN runs USING (run_key) JOIN sweeps USING (sweep_key) "
                  "WHERE sweep_id = ? AND run_id = ? AND state = ?");
  count.with(sweep_id, run_id, spec::enum_name(state)).step();
  return count.integer(0);
}

namespace {

std::vector<StoredAttempt> load_selected(const Connection& db, const Selection& selection) {
  switch (selection.kind) {
    case SelectionKind::latest_sweep:
      return load_where(db,
                        "s.sweep_key = (SELECT sweep_key FROM sweeps "
                        "WHERE " +
                            kind_condition("kind", SweepsOf::measurement) +
                            " ORDER BY sweep_id = '', started_utc DESC, sweep_key DESC LIMIT 1)");
    case SelectionKind::all:
      return load_where(db, "TRUE");
    case SelectionKind::sweep:
      return load_sweep(db, selection.id);
    case SelectionKind::run:
      return load_where(db, "r.run_id = ?", whole_run_id(db, selection.id));
    case SelectionKind::attempt:
      break;
  }
  auto out = load_where(db, "r.run_id = ? AND a.attempt = ?", whole_run_id(db, selection.id), selection.attempt);
  if (out.empty() && db.left_out().empty()) {
    throw InputError("[store] run " + selection.id + " has no attempt " + std::to_string(selection.attempt));
  }
  return out;
}

// In the form in which a user types it.
std::string text_of(const Selection& selection) {
  switch (selection.kind) {
    case SelectionKind::latest_sweep:
      return "latest";
    case SelectionKind::all:
      return "all";
    case SelectionKind::run:
      return "run:" + selection.id;
    case SelectionKind::attempt:
      return "attempt:" + selection.id + "/" + std::to_string(selection.attempt);
    case SelectionKind::sweep:
      break;
  }
  return selection.id;
}

}  // namespace

std::vector<StoredAttempt> load_attempts(const Connection& db, const Selection& selection) {
  if (selection.subject.empty()) return load_selected(db, selection);
  const auto whole = selection.id + "@" + selection.subject;  // a sweep may have that name
  if (selection.kind == SelectionKind::sweep && has_sweep(db, whole)) return load_sweep(db, whole);
  return of_subject(load_selected(db, selection), selection.subject, text_of(selection));
}

std::vector<StoredAttempt> load_attempts(const Connection& db, const std::vector<std::int64_t>& keys) {
  AttemptReader reader(db);
  Statement rows(db, AttemptReader::sql("a.attempt_key = ?"));
  std::vector<StoredAttempt> out;
  for (const auto key : keys) {
    rows.with(key);
    auto one = reader.read(rows);
    std::move(one.begin(), one.end(), std::back_inserter(out));
  }
  return out;
}

ChosenAttempts choose_attempts(const Connection& db, const Selection& selection) {
  ChosenAttempts out{.attempts = load_attempts(db, selection), .faulty = {}};
  const bool asked_for =
      !selection.subject.empty() || (selection.kind != SelectionKind::all && selection.kind != SelectionKind::run);
  if (asked_for) return out;
  const auto is_clean = [](const StoredAttempt& attempt) { return !attempt.subject.is_faulty(); };
  const auto first_faulty = std::stable_partition(out.attempts.begin(), out.attempts.end(), is_clean);
  if (first_faulty == out.attempts.begin() && selection.kind == SelectionKind::run) return out;
  out.faulty.assign(std::make_move_iterator(first_faulty), std::make_move_iterator(out.attempts.end()));
  out.attempts.erase(first_faulty, out.attempts.end());
  return out;
}

std::string origin_of_attempt(const Connection& db, std::int64_t key) {
  std::string out;
  Statement job(db, "SELECT launcher, job, nodes, image FROM attempt_jobs WHERE attempt_key = ?");
  job.bind(1, key);
  if (job.step()) {
    out = job.text(0) + " " + job.text(1);
    if (!job.text(2).empty()) out += " on " + job.text(2);
    if (!job.text(3).empty()) out += " in " + job.text(3);
  }
  Statement push(db, "SELECT machine FROM pushed_attempts JOIN pushes USING (push_key) WHERE attempt_key = ?");
  push.bind(1, key);
  if (push.step()) out += (out.empty() ? "pushed by " : ", pushed by ") + push.text(0);
  return out;
}

std::string left_out_text(const std::vector<StoredAttempt>& faulty) {
  if (faulty.empty()) return {};
  std::set<std::string> names;
  for (const auto& attempt : faulty) names.insert((attempt.sweep_id.empty() ? "all" : attempt.sweep_id) + "@inject");
  return fmt::format("{} attempt{} with an injected fault {} left out; {} name{} them", faulty.size(),
                     faulty.size() == 1 ? "" : "s", faulty.size() == 1 ? "is" : "are", fmt::join(names, ", "),
                     names.size() == 1 ? "s" : "");
}

std::vector<StoredAttempt> of_subject(std::vector<StoredAttempt> attempts, const std::string& subject,
                                      const std::string& asked) {
  SubjectGroups groups;
  for (const auto& attempt : attempts) groups.place_of(attempt.subject);
  const auto named = named_subjects(groups.subjects(), subject);
  std::erase_if(attempts, [&](const StoredAttempt& attempt) {
    return std::find(named.begin(), named.end(), groups.place_of(attempt.subject)) == named.end();
  });
  if (!attempts.empty() || groups.subjects().empty()) return attempts;
  throw InputError(fmt::format("[store] '{}@{}': no attempt has that subject; the subjects are: {}", asked, subject,
                               names_text(groups.subjects())));
}

}  // namespace perfbench::harness
