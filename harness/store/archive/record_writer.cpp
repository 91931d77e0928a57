#include "harness/store/archive/record_writer.h"

#include <algorithm>
#include <set>
#include <string>

#include "harness/store/archive/evidence_lines.h"
#include "harness/store/archive/record_line.h"
#include "harness/store/attempts/evidence_reader.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/store/ledgers/bisection_ledger.h"
#include "harness/store/ledgers/judgement_ledger.h"
#include "harness/store/ledgers/selftest_ledger.h"
#include "harness/store/ledgers/stored_comparison.h"
#include "harness/store/stored_row.h"
#include "harness/system/input_error.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

bool is_all(const Selection& selection) {
  return selection.kind == SelectionKind::all && selection.subject.empty();
}

std::vector<std::int64_t> selected_keys(const Connection& store, const Selection& selection) {
  std::vector<std::int64_t> out;
  if (is_all(selection)) {
    Statement rows(store, "SELECT attempt_key FROM attempts ORDER BY started_utc, attempt_key");
    while (rows.step()) out.push_back(rows.integer(0));
    return out;
  }
  for (const auto& attempt : load_attempts(store, selection)) out.push_back(attempt.key);
  if (out.empty()) throw InputError("[export] " + store.path().string() + " has no attempts");
  return out;
}

class RecordWriter {
 public:
  RecordWriter(const Connection& store, const Selection& selection, ArchivedRecords records, const LineSink& sink)
      : store_(store), is_all_(is_all(selection)), records_(records), sink_(sink) {}

  WrittenRecords write(const std::vector<std::int64_t>& attempt_keys) {
    for (const auto key : attempt_keys) readable([&] { write_attempt(key); });
    if (records_ == ArchivedRecords::all) write_annotations();
    for (const auto& id : finished_comparisons(store_)) readable([&] { write_comparison(id); });
    if (records_ == ArchivedRecords::all && is_all_) write_ledgers();
    return written_;
  }

 private:
  void write_annotations() const {
    for (const auto& tag : list_tags(store_)) readable([&] { write_said("tag", tag, {"tags", "name " + tag.name}); });
    for (const auto& note : list_notes(store_)) {
      readable([&] { write_said("note", note, {"notes", "created_utc " + note.created_utc}); });
    }
    for (const auto& baseline : list_baselines(store_)) readable([&] { write_baseline(baseline); });
  }

  void write_ledgers() const {
    for (const auto& id : judgement_ids(store_)) readable([&] { write_judgement(id); });
    for (const auto& one : finished_bisections(store_)) {
      readable([&] { put("bisection", one, {"bisections", "started_utc " + one.started_utc}); });
    }
    for (const auto& one : load_alerts(store_, AlertScope::all)) {
      readable([&] { put("alert", one, {"alerts", "alert_id " + one.alert_id}); });
    }
    for (const auto& one : stored_selftest_results(store_)) {
      readable([&] { put("selftest_result", one, {"selftest_results", "measure " + one.measure}); });
    }
  }

  template <class Write>
  void readable(const Write& write) const {
    try {
      write();
    } catch (const UnreadableRow& e) {
      store_.leave_out(e.what());
    }
  }

  // Checks that an import would accept the record.
  template <class T>
  void put(std::string_view tag, const T& record, const RowName& row) const {
    const auto text = record_text(record);
    try {
      if (text.size() > kLongestLine) throw spec::SpecError("", "it is longer than a line of an export may be");
      parse_record<T>(text);
    } catch (const spec::SpecError& e) {
      refuse_row(store_, row, e.what());
    }
    sink_(to_line(tag, text));
  }

  void write_attempt(std::int64_t key) {
    const auto stored = read_evidence(store_, key);
    const auto& sweep_id = stored.evidence.attempt.sweep_id;
    check_lines(stored, key);
    if (!sweeps_.contains(sweep_id)) put("sweep", read_sweep(store_, sweep_id), {"sweeps", "sweep_id " + sweep_id});
    sweeps_.insert(sweep_id);
    write_evidence(stored, sink_);
    attempts_.insert(key);
    runs_.insert(stored.evidence.attempt.run_id);
    ++written_.attempts;
    written_.step_rows += static_cast<std::int64_t>(stored.evidence.steps.size());
  }

  void check_lines(const StoredEvidence& stored, std::int64_t key) const {
    EvidenceLines lines;
    std::string tag;
    try {
      write_evidence(stored, [&](std::string_view line) {
        if (line.size() > kLongestLine) throw spec::SpecError("", "it is longer than a line of an export may be");
        const auto split = split_line(line.substr(0, line.size() - 1));
        tag = split.tag;
        lines.take(split.tag, split.record);
      });
      lines.finish();
    } catch (const spec::SpecError& e) {
      refuse_row(store_, {"attempts", "attempt_key " + std::to_string(key)},
                 "its " + tag + (e.pointer().empty() ? "" : " at " + e.pointer()) + ": " + e.what());
    }
  }

  template <class Said>
  void write_said(std::string_view tag, const Said& said, const RowName& row) const {
    const bool of_written = said.attempt_key ? attempts_.contains(*said.attempt_key) : runs_.contains(said.run_id);
    if (of_written) put(tag, entry_of(store_, said), row);
  }

  void write_baseline(const Baseline& baseline) const {
    if (!is_all_ && baseline.attempt_keys.empty()) return;
    const RowName row{"baselines", "baseline_key " + std::to_string(baseline.key) + " ('" + baseline.name + "')"};
    if (are_written(baseline.attempt_keys, row)) put("baseline", entry_of(store_, baseline), row);
  }

  void write_comparison(const std::string& id) const {
    const auto found = find_comparison(store_, id);
    if (!found || (!is_all_ && found->pairs.empty())) return;
    std::vector<std::int64_t> keys;
    for (const auto& pair : found->pairs) {
      keys.push_back(attempt_key_of(store_, pair.a));
      keys.push_back(attempt_key_of(store_, pair.b));
    }
    const RowName row{"ab_comparisons", "comparison_id " + id};
    if (!are_written(keys, row)) return;
    put("comparison", *found, row);
    if (!is_all_) write_judgement(id);
  }

  // Comparisons of an older perfbench have none.
  void write_judgement(const std::string& id) const {
    if (const auto found = find_judgement(store_, id)) put("judgement", *found, {"judgements", "judgement_id " + id});
  }

  bool are_written(const std::vector<std::int64_t>& keys, const RowName& row) const {
    if (std::all_of(keys.begin(), keys.end(), [&](auto key) { return attempts_.contains(key); })) return true;
    if (is_all_) refuse_row(store_, row, "one of its attempts cannot be read");
    return false;
  }

  const Connection& store_;
  bool is_all_;
  const ArchivedRecords records_;
  const LineSink& sink_;
  std::set<std::string> sweeps_;
  std::set<std::int64_t> attempts_;
  std::set<std::string> runs_;  // of those attempts
  WrittenRecords written_;
};

}  // namespace

BaselineEntry entry_of(const Connection& db, const Baseline& baseline) {
  BaselineEntry out{.baseline = baseline, .attempts = {}};
  for (const auto key : baseline.attempt_keys) out.attempts.push_back(attempt_name(db, key));
  std::sort(out.attempts.begin(), out.attempts.end(),  // not sorted by keys: the same order in every database
            [](const AttemptName& a, const AttemptName& b) { return to_text(a) < to_text(b); });
  return out;
}

TagEntry entry_of(const Connection& db, const Tag& tag) {
  TagEntry out{.tag = tag, .attempts = {}};
  if (tag.attempt_key) out.attempts.push_back(attempt_name(db, *tag.attempt_key));
  return out;
}

NoteEntry entry_of(const Connection& db, const Note& note) {
  NoteEntry out{.note = note, .attempts = {}};
  if (note.attempt_key) out.attempts.push_back(attempt_name(db, *note.attempt_key));
  return out;
}

WrittenRecords write_records(const Connection& store, const Selection& selection, ArchivedRecords records,
                             const LineSink& sink) {
  return RecordWriter(store, selection, records, sink).write(selected_keys(store, selection));
}

}  // namespace perfbench::harness
