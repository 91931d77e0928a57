// Bisections in the store: tables bisections, bisection_steps and bisection_candidates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/judge/bisection.h"
#include "harness/store/sqlite.h"
#include "workloads/spec/fields.h"

namespace perfbench::harness {

struct BisectionStepRecord {
  std::string commit;
  StepOutcome outcome = StepOutcome::skipped;
  std::string detail;
  std::string comparison_id;  // empty if none ran

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"git_commit", "commit that was tested"}, self.commit);
    f(Field{"outcome", "its result"}, self.outcome);
    f(Field{"detail", "why"}, self.detail);
    f(Field{"comparison_id", "the comparison, or empty"}, self.comparison_id);
  }
};

struct BisectionRecord {
  std::string matrix;
  std::string metric;
  std::string good_commit;
  std::string bad_commit;
  std::string started_utc = {};   // set by the ledger
  std::string finished_utc = {};  // empty: it was interrupted, or is still running
  std::vector<BisectionStepRecord> steps = {};
  std::vector<std::string> candidates = {};  // oldest first: one commit, or several that cannot be distinguished

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"matrix", "name of the matrix"}, self.matrix);
    f(Field{"metric", "name of the metric"}, self.metric);
    f(Field{"good_commit", "known good commit"}, self.good_commit);
    f(Field{"bad_commit", "known bad commit"}, self.bad_commit);
    f(Field{"started_utc", "when it began"}, self.started_utc);
    f(Field{"finished_utc", "when it ended"}.null_at_default(), self.finished_utc);
    f(Field{"steps", "commits that were tested, in order"}, self.steps);
    f(Field{"candidates", "possible first bad commits, oldest first"}, self.candidates);
  }
};

// Starts a bisection now and returns its key.
std::int64_t begin_bisection(Connection& db, BisectionRecord bisection);
void add_bisection_step(Connection& db, std::int64_t key, std::int64_t step, const BisectionStepRecord& record);
// `commits` are oldest first: one, or several that cannot be distinguished.
void finish_bisection(Connection& db, std::int64_t key, const std::vector<std::string>& commits);

// The finished bisections, oldest first, without rows that cannot be read (Connection::left_out).
std::vector<BisectionRecord> finished_bisections(const Connection& db);
// Adds a bisection of another database unchanged.
void add_bisection(Connection& db, const BisectionRecord& bisection);

}  // namespace perfbench::harness
