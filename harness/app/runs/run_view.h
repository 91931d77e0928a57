// Everything that a store has about one run, for `perfbench show` and `perfbench diff`.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/app/installation.h"
#include "harness/app/runs/run_name.h"
#include "harness/execute/launcher.h"
#include "harness/store/ledgers/tag_ledger.h"
#include "workloads/spec/dry_counts.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/step_record.h"

namespace perfbench::harness {

enum class Fields { not_default, all };

struct ViewedAttempt {
  StoredAttempt attempt;
  std::string sweep_kind;                         // name of the SweepKind
  std::size_t subject = 0;                        // index into RunView::subjects
  std::optional<std::filesystem::path> evidence;  // its run directory; nullopt if it is not where it was expected
  bool traced = false;                            // whether the directory has traced steps
  std::string origin;                             // origin_of_attempt()
};

struct ViewedMetric {
  std::string name;
  std::string unit;        // as in the metric catalog
  double value = 0;        // median over the finished attempts that have the metric
  std::int64_t count = 0;  // number of those attempts
};

// The attempts of one subject (harness/records/subject.h). Values over several attempts use only these.
struct ViewedSubject {
  Subject subject;
  std::string name;  // from distinct_names()
  std::int64_t attempts = 0;
  std::int64_t finished = 0;
  std::string started_utc;                         // of the newest attempt
  std::map<std::string, std::string> environment;  // facts of the newest attempt that has any
  std::vector<ViewedMetric> metrics;               // in the order of the catalog
};

// The environment of a baseline in force that has attempts of the run, compared with the run's.
struct AgainstBaseline {
  std::string name;
  std::vector<spec::FieldDifference> environment;  // facts that differ: the baseline's value, then the run's
};

// The counts of the run by today's engine: no run records every tensor.
struct CountedMemory {
  spec::DryCounts counts;
  std::string failure = {};  // how the engine ended instead of counting
};

struct RunView {
  NamedRun named;
  std::vector<std::pair<std::string, std::string>> configuration;  // "mesh.ici.dp" -> JSON value
  std::map<std::string, std::string> environment;                  // facts of the newest attempt that has any
  std::vector<ViewedAttempt> attempts;                             // the same as named.attempts
  std::vector<ViewedSubject> subjects;  // subjects of the attempts, in the order of their first one; never empty
  std::optional<AgainstBaseline> baseline = {};  // from against_baseline(), if requested
  std::vector<spec::StepRecord> steps = {};      // from steps_of(), if requested
  std::optional<CountedMemory> memory = {};      // from memory_of(), if requested
  std::vector<Tag> tags;                         // of the run, and of its named attempts
  std::vector<Note> notes;                       // likewise, oldest first
  std::filesystem::path runs;                    // where evidence was looked for
  std::filesystem::path db;                      // the database of the run
};

RunView view_run(const Connection& db, NamedRun named, const std::filesystem::path& runs, Fields fields,
                 const Installation& installation);

// The steps of the newest attempt that is ok, by rank, then step. Empty if they cannot be read, in which case the row
// is reported as left out.
std::vector<spec::StepRecord> steps_of(const Connection& db, const NamedRun& named);

// For the newest baseline in force that has attempts of the run; nullopt if there is none, or its environment is
// unknown.
std::optional<AgainstBaseline> against_baseline(const Connection& db, const RunView& view);

// Takes at most a few seconds, which is more than any run of a sensible size needs.
CountedMemory memory_of(const spec::RunSpec& run, const EngineProgram& engine);

struct MetricDifference {
  std::string name;
  std::string unit;
  std::optional<double> left;  // ViewedMetric::value of that subject
  std::optional<double> right;
  std::optional<double> ratio;  // right / left; nullopt if a side lacks the metric or left is 0
};

// Facts of two runs, without a verdict. For a run of several subjects, shows the numbers of the one that finished last.
struct RunDifference {
  RunView left;
  RunView right;
  std::size_t left_subject = 0;  // indices into RunView::subjects
  std::size_t right_subject = 0;
  std::vector<spec::FieldDifference> configuration;
  std::vector<spec::FieldDifference> environment;
  std::vector<MetricDifference> metrics;  // metrics that at least one run has
};

RunDifference hold_side_by_side(RunView left, RunView right);

}  // namespace perfbench::harness
