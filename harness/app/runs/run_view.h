// Everything that a store has of one run, put together: what `perfbench show` and `perfbench diff` show.
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
  std::string sweep_kind;                         // of SweepKind
  std::size_t subject = 0;                        // index into RunView::subjects
  std::optional<std::filesystem::path> evidence;  // its run directory; nothing: not where it was looked for
  bool traced = false;                            // whether that holds traced steps
};

struct ViewedMetric {
  std::string name;
  std::string unit;        // of the metric catalog
  double value = 0;        // median over the finished attempts that have it
  std::int64_t count = 0;  // of those
};

// The attempts of one subject (harness/records/subject.h). What is made of several attempts is made of these.
struct ViewedSubject {
  Subject subject;
  std::string name;  // of distinct_names()
  std::int64_t attempts = 0;
  std::int64_t finished = 0;
  std::string started_utc;                         // of the newest
  std::map<std::string, std::string> environment;  // facts, of the newest that has any
  std::vector<ViewedMetric> metrics;               // in the order of the catalog
};

// The environment of a baseline in force that has attempts of the run, against the run's.
struct AgainstBaseline {
  std::string name;
  std::vector<spec::FieldDifference> environment;  // facts that differ: the baseline's, then the run's
};

// What the engine of today counts of the run: no run records every tensor.
struct CountedMemory {
  spec::DryCounts counts;
  std::string failure = {};  // how it ended instead of counting
};

struct RunView {
  NamedRun named;
  std::vector<std::pair<std::string, std::string>> configuration;  // "mesh.ici.dp" -> JSON value
  std::map<std::string, std::string> environment;                  // facts, of the newest attempt that has any
  std::vector<ViewedAttempt> attempts;                             // as named.attempts
  std::vector<ViewedSubject> subjects;           // of the attempts, in the order of their first; never empty
  std::optional<AgainstBaseline> baseline = {};  // against_baseline(), for whoever shows it
  std::vector<spec::StepRecord> steps = {};      // steps_of(), for whoever draws them
  std::optional<CountedMemory> memory = {};      // memory_of(), for whoever shows it
  std::vector<Tag> tags;                         // of the run, and of its attempts that are named
  std::vector<Note> notes;                       // the same, oldest first
  std::filesystem::path runs;                    // where evidence was looked for
  std::filesystem::path db;                      // that it is of
};

RunView view_run(const Connection& db, NamedRun named, const std::filesystem::path& runs, Fields fields,
                 const Installation& installation);

// Of the newest attempt that is ok, by rank, step; none where they cannot be read, which is left out as any such row.
std::vector<spec::StepRecord> steps_of(const Connection& db, const NamedRun& named);

// Of the newest baseline in force that has attempts of the run; nothing where none has, or says where it ran.
std::optional<AgainstBaseline> against_baseline(const Connection& db, const RunView& view);

// As long as that takes a few seconds, which is more than any run of a sane size needs.
CountedMemory memory_of(const spec::RunSpec& run, const EngineProgram& engine);

struct MetricDifference {
  std::string name;
  std::string unit;
  std::optional<double> left;  // ViewedMetric::value of that subject
  std::optional<double> right;
  std::optional<double> ratio;  // right / left; nothing where a side lacks it or left is 0
};

// Facts of two runs, without a verdict. A run of several subjects shows the numbers of the subject that finished last.
struct RunDifference {
  RunView left;
  RunView right;
  std::size_t left_subject = 0;  // indices into RunView::subjects
  std::size_t right_subject = 0;
  std::vector<spec::FieldDifference> configuration;
  std::vector<spec::FieldDifference> environment;
  std::vector<MetricDifference> metrics;  // that either has
};

RunDifference hold_side_by_side(RunView left, RunView right);

}  // namespace perfbench::harness
