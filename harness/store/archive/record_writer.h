// The contents of a database as lines of an export. Attempts come before records that refer to several of them:
//
//     {"sweep":...}            SweepEntry, before the first of its attempts
//     ...                      one attempt after the other (evidence_lines.h)
//     {"tag":...}              TagEntry
//     {"note":...}             NoteEntry
//     {"baseline":...}         BaselineEntry
//     {"comparison":...}       StoredComparison
//     {"judgement":...}        Judgement
//     {"bisection":...}        BisectionRecord
//     {"alert":...}            Alert
//     {"selftest_result":...}  StoredSelftestResult
#pragma once

#include <cstdint>
#include <vector>

#include "harness/store/archive/archive.h"
#include "harness/store/archive/record_line.h"
#include "harness/store/attempts/attempt_keys.h"
#include "harness/store/ledgers/baseline_ledger.h"
#include "harness/store/ledgers/tag_ledger.h"
#include "harness/store/queries/query.h"
#include "harness/store/sqlite.h"
#include "workloads/spec/fields.h"

namespace perfbench::harness {

struct BaselineEntry {
  Baseline baseline;
  std::vector<AttemptName> attempts;  // the names of its attempt_keys

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"baseline", "the entry"}, self.baseline);
    f(Field{"attempts", "its attempts"}, self.attempts);
  }
};
// Throws UnreadableRow (harness/store/stored_row.h).
BaselineEntry entry_of(const Connection& db, const Baseline& baseline);

// A user's annotation of a run.
struct TagEntry {
  Tag tag;
  std::vector<AttemptName> attempts;  // its attempt; empty: the run as a whole

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"tag", "the tag"}, self.tag);
    f(Field{"attempts", "its attempt; none: the run as a whole"}, self.attempts);
  }
};
struct NoteEntry {
  Note note;
  std::vector<AttemptName> attempts;  // its attempt; empty: the run as a whole

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"note", "the note"}, self.note);
    f(Field{"attempts", "its attempt; none: the run as a whole"}, self.attempts);
  }
};
// Throw UnreadableRow.
TagEntry entry_of(const Connection& db, const Tag& tag);
NoteEntry entry_of(const Connection& db, const Note& note);

struct WrittenRecords {
  std::int64_t attempts = 0;
  std::int64_t step_rows = 0;
};

// For `all`, writes everything that was finished. Otherwise writes the selected attempts, their annotations, and the
// baselines and A/B comparisons that use no other attempts. Records that cannot be read, or could not be imported, are
// left out (Connection::left_out). Messages to a webhook are not exported, because the other database would send them
// again. Throws InputError for a selection that names nothing.
WrittenRecords write_records(const Connection& store, const Selection& selection, ArchivedRecords records,
                             const LineSink& sink);

}  // namespace perfbench::harness
