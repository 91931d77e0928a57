#include "harness/store/archive/record_import.h"

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "harness/store/archive/evidence_lines.h"
#include "harness/store/archive/record_line.h"
#include "harness/store/archive/record_writer.h"
#include "harness/store/attempts/evidence_reader.h"
#include "harness/store/attempts/evidence_writer.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/store/ledgers/bisection_ledger.h"
#include "harness/store/ledgers/judgement_ledger.h"
#include "harness/store/ledgers/selftest_ledger.h"
#include "harness/store/ledgers/stored_comparison.h"
#include "harness/system/input_error.h"
#include "harness/system/sha256.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

// The part of an attempt on which two databases must agree. It leaves out facts that an older perfbench did not record.
std::string comparable(const RunEvidence& evidence) {
  auto entry = entry_of(evidence);
  auto& record = entry.record;
  record.axes.clear();
  record.command.clear();
  record.only.clear();
  record.sweep_kind = SweepKind::imported;
  record.engine_sha256.clear();
  record.repeats = 0;
  record.words.reset();
  spec::Json environment;
  if (evidence.environment) environment = spec::fields_to_json(*evidence.environment);
  return spec::json_line({{"attempt", spec::fields_to_json(entry)}, {"environment", environment}});
}

std::string comparable(Alert alert) {
  alert.events.clear();
  return record_text(alert);
}

// "attempt/record/reason is x in the file, y in the database; ..."
std::string differences(const std::string& in_file, const std::string& in_database) {
  const auto theirs = spec::parse_own_json(in_file).flatten();
  const auto ours = spec::parse_own_json(in_database).flatten();
  std::string out;
  const auto add = [&](const std::string& field) {
    const auto shown = [&](const spec::Json& of) {
      if (!of.contains(field)) return std::string("nothing");
      return of[field].is_string() ? of[field].get<std::string>() : spec::shown(of[field]);
    };
    out += (out.empty() ? "" : "; ") + field.substr(1) + " is " + shown(theirs) + " in the file, " + shown(ours) +
           " in the database";
  };
  for (const auto& [field, value] : theirs.items()) {
    if (!ours.contains(field) || ours[field] != value) add(field);
  }
  for (const auto& [field, value] : ours.items()) {
    if (!theirs.contains(field)) add(field);
  }
  return out;
}

// Ledger entries without names are identified by their contents, whose digest this is.
using KnownEntries = std::set<std::string>;

}  // namespace

class RecordImport::Impl {
 public:
  Impl(Connection& db, std::string file, ArchivedRecords records) : db_(db), file_(std::move(file)), records_(records) {
    for (const auto* what : {"attempts", "steps", "tags", "notes", "baselines", "comparisons", "judgements",
                             "bisections", "alerts", "selftest_results"})
      counts_[what];
    for (const auto& one : list_baselines(db_)) baselines_.insert(sha256_hex(record_text(entry_of(db_, one))));
    for (const auto& one : list_notes(db_)) notes_.insert(sha256_hex(record_text(entry_of(db_, one))));
    for (const auto& one : finished_bisections(db_)) bisections_.insert(sha256_hex(record_text(one)));
    for (const auto& one : stored_selftest_results(db_)) selftest_results_.insert(sha256_hex(record_text(one)));
  }

  void take(std::string_view line) {
    ++line_;
    guarded([&] {
      if (line.size() > kLongestLine) refuse("it is longer than " + std::to_string(kLongestLine) + " bytes");
      const auto split = split_line(line);
      if (!EvidenceLines::has(split.tag)) finish_attempt();
      tag_ = split.tag;
      take_record(split.record);
    });
  }

  ImportCounts finish() {
    guarded([&] { finish_attempt(); });
    return counts_;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError("[import] " + file_ + ": line " + std::to_string(line_) + " (" + tag_ +
                     (attempt_.empty() ? "" : " of the attempt with " + attempt_) + "): " + what +
                     ". Nothing was imported: the file, or the database that was exported, was modified; export it "
                     "again, or leave that sweep out with `perfbench export --select`");
  }

  template <class Take>
  void guarded(const Take& take) const {
    try {
      take();
    } catch (const spec::SpecError& e) {
      refuse((e.pointer().empty() ? "" : "at " + e.pointer() + ": ") + e.what());
    } catch (const StoreError& e) {
      if (e.fault() != StoreFault::constraint) throw;  // an error of the database, or its disk
      refuse(e.what());
    }
  }

  void take_record(std::string_view record) {
    if (EvidenceLines::begins(tag_) || EvidenceLines::has(tag_)) return take_evidence(record);
    if (tag_ == "sweep") return take_sweep(parse_record<SweepEntry>(record));
    if (tag_ == "comparison") return take_comparison(parse_record<StoredComparison>(record));
    if (tag_ == "judgement") return take_judgement(parse_record<Judgement>(record));
    if (records_ == ArchivedRecords::measured) refuse("the file may have runs and comparisons only");
    if (tag_ == "tag") return take_tag(parse_record<TagEntry>(record));
    if (tag_ == "note") return take_note(parse_record<NoteEntry>(record));
    if (tag_ == "baseline") return take_baseline(parse_record<BaselineEntry>(record));
    if (tag_ == "bisection") return take_bisection(parse_record<BisectionRecord>(record));
    if (tag_ == "alert") return take_alert(parse_record<Alert>(record));
    if (tag_ == "selftest_result") return take_selftest_result(parse_record<StoredSelftestResult>(record));
    refuse("this perfbench does not know such records; use a newer one");
  }

  void take_evidence(std::string_view record) {
    if (!lines_) lines_.emplace();
    lines_->take(tag_, record);
    attempt_ = to_text(lines_->name());
  }

  void finish_attempt() {
    if (!lines_) return;
    const auto stored = lines_->finish();
    lines_.reset();
    const auto& evidence = stored.evidence;
    if (const auto key = find_attempt(db_, name_of(evidence.attempt))) {
      hold_together("attempts (" + attempt_ + ")", comparable(evidence), comparable(read_circumstances(db_, *key)));
      ++counts_["attempts"].present;
    } else {
      add_evidence(db_, evidence, stored.traced);
      ++counts_["attempts"].added;
      counts_["steps"].added += static_cast<std::int64_t>(evidence.steps.size());
    }
    attempt_.clear();
  }

  void hold_together(const std::string& row, const std::string& in_file, const std::string& in_database) const {
    if (in_file == in_database) return;
    throw InputError("[import] " + file_ + " contradicts " + db_.path().string() + " about the row of " + row + ": " +
                     differences(in_file, in_database) +
                     ". One of the two was modified; nothing was imported: import into a separate database");
  }

  void take_sweep(const SweepEntry& sweep) {
    if (sweep.started_utc.empty()) refuse("the sweep has no started_utc");
    add_sweep(db_, sweep);
  }

  // Returns whether it is new.
  bool count(const std::string& what, const std::string& record, KnownEntries& known) {
    const bool is_new = known.insert(sha256_hex(record)).second;
    ++(is_new ? counts_[what].added : counts_[what].present);
    return is_new;
  }

  std::int64_t key_of(const AttemptName& name) const {
    if (const auto key = find_attempt(db_, name)) return *key;
    refuse("neither the file nor " + db_.path().string() + " has the attempt with " + to_text(name));
  }

  // The key of the annotated attempt; nullopt if the annotation is about the run.
  std::optional<std::int64_t> key_of(const std::vector<AttemptName>& attempts, const std::string& run_id) const {
    if (attempts.empty()) return std::nullopt;
    if (attempts.size() > 1 || attempts.front().run_id != run_id) refuse("it belongs to attempts of another run");
    return key_of(attempts.front());
  }

  void take_tag(TagEntry entry) {
    if (const auto known = find_tag(db_, entry.tag.name)) {
      hold_together("tags (name " + entry.tag.name + ")", record_text(entry), record_text(entry_of(db_, *known)));
      ++counts_["tags"].present;
      return;
    }
    entry.tag.attempt_key = key_of(entry.attempts, entry.tag.run_id);
    added_by_ledger([&] { record_tag(db_, entry.tag); });
    ++counts_["tags"].added;
  }

  void take_note(NoteEntry entry) {
    if (!count("notes", record_text(entry), notes_)) return;
    entry.note.attempt_key = key_of(entry.attempts, entry.note.run_id);
    added_by_ledger([&] { record_note(db_, entry.note); });
  }

  template <class Add>
  void added_by_ledger(const Add& add) const {
    try {
      add();
    } catch (const InputError& e) {
      refuse(e.what());
    }
  }

  void take_baseline(BaselineEntry entry) {
    for (const auto& name : entry.attempts) entry.baseline.attempt_keys.push_back(key_of(name));
    if (!count("baselines", record_text(entry), baselines_)) return;
    added_by_ledger([&] { add_baseline(db_, entry.baseline); });
  }

  void take_comparison(const StoredComparison& comparison) {
    if (const auto known = find_comparison(db_, comparison.comparison_id)) {
      hold_together("ab_comparisons (comparison_id " + comparison.comparison_id + ")", record_text(comparison),
                    record_text(*known));
      ++counts_["comparisons"].present;
      return;
    }
    if (comparison.finished_utc.empty()) refuse("the comparison was not finished");
    for (const auto& pair : comparison.pairs) {
      key_of(pair.a);
      key_of(pair.b);
    }
    add_comparison(db_, comparison);
    ++counts_["comparisons"].added;
  }

  void take_judgement(const Judgement& judgement) {
    if (const auto known = find_judgement(db_, judgement.judgement_id)) {
      hold_together("judgements (judgement_id " + judgement.judgement_id + ")", record_text(judgement),
                    record_text(*known));
      ++counts_["judgements"].present;
      return;
    }
    add_judgement(db_, judgement);
    ++counts_["judgements"].added;
  }

  void take_bisection(const BisectionRecord& bisection) {
    if (bisection.finished_utc.empty()) refuse("the bisection was not finished");
    if (count("bisections", record_text(bisection), bisections_)) add_bisection(db_, bisection);
  }

  // Rows of alerts never change, but events are added: decisions from both databases are kept.
  void take_alert(const Alert& alert) {
    if (alert.events.empty()) refuse("the alert has no event, and therefore no state");
    const auto known = known_alert(db_, alert.alert_id);
    if (!known) {
      add_alert(db_, alert);
      ++counts_["alerts"].added;
      return;
    }
    hold_together("alerts (alert_id " + alert.alert_id + ")", comparable(alert), comparable(*known));
    std::set<std::string> events;
    for (const auto& event : known->events) events.insert(record_text(event));
    for (const auto& event : alert.events) {
      if (events.insert(record_text(event)).second) add_alert_event(db_, alert.alert_id, event);
    }
    ++counts_["alerts"].present;
  }

  void take_selftest_result(const StoredSelftestResult& result) {
    if (count("selftest_results", record_text(result), selftest_results_)) add_selftest_results(db_, {result});
  }

  Connection& db_;
  std::string file_;
  const ArchivedRecords records_;
  std::int64_t line_ = 0;
  std::string tag_ = "?";
  std::string attempt_;  // the attempt whose lines are being read
  std::optional<EvidenceLines> lines_;
  KnownEntries notes_;
  KnownEntries baselines_;
  KnownEntries bisections_;
  KnownEntries selftest_results_;
  ImportCounts counts_;
};

RecordImport::RecordImport(Connection& db, std::string file, ArchivedRecords records)
    : impl_(std::make_unique<Impl>(db, std::move(file), records)) {}
RecordImport::~RecordImport() = default;

void RecordImport::take(std::string_view line) {
  impl_->take(line);
}

ImportCounts RecordImport::finish() {
  return impl_->finish();
}

}  // namespace perfbench::harness
