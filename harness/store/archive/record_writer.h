// What an export carries of a database, as lines. Attempts come before the records about several of them:
//
//   {"sweep":...}            SweepEntry, before the first of its attempts
//   ...                      one attempt after the other (evidence_lines.h)
//   {"tag":...}              TagEntry
//   {"note":...}             NoteEntry
//   {"baseline":...}         BaselineEntry
//   {"comparison":...}       StoredComparison
//   {"judgement":...}        Judgement
//   {"bisection":...}        BisectionRecord
//   {"alert":...}            Alert
//   {"selftest_result":...}  StoredSelftestResult
#pragma once

#include <cstdint>
#include <vector>

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
  std::vector<AttemptName> attempts;  // what its attempt_keys name

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"baseline", "the entry"}, self.baseline);
    f(Field{"attempts", "that it is made of"}, self.attempts);
  }
};
// Throws UnreadableRow (harness/store/stored_row.h).
BaselineEntry entry_of(const Connection& db, const Baseline& baseline);

// What people said of a run.
struct TagEntry {
  Tag tag;
  std::vector<AttemptName> attempts;  // the one that it is of; none: the run as a whole

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"tag", "the tag"}, self.tag);
    f(Field{"attempts", "that it is of; none: the run as a whole"}, self.attempts);
  }
};
struct NoteEntry {
  Note note;
  std::vector<AttemptName> attempts;  // the one that it is of; none: the run as a whole

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"note", "the note"}, self.note);
    f(Field{"attempts", "that it is of; none: the run as a whole"}, self.attempts);
  }
};
// Throw UnreadableRow.
TagEntry entry_of(const Connection& db, const Tag& tag);
NoteEntry entry_of(const Connection& db, const Note& note);

struct WrittenRecords {
  std::int64_t attempts = 0;
  std::int64_t step_rows = 0;
};

// `all`: everything that was finished. Else the attempts, what was said of them, and the baselines and A/B comparisons
// that have no others.
// What cannot be read, or could not be taken in again, is left out (Connection::left_out). Messages to a webhook stay:
// the other database would send them again. Throws InputError for a selection that names nothing.
WrittenRecords write_records(const Connection& store, const Selection& selection, const LineSink& sink);

}  // namespace perfbench::harness
