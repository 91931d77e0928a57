// Attempts that nothing needs any more, out of a database and out of its run directories.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/store/sqlite.h"
#include "workloads/spec/enum_names.h"

namespace perfbench::harness {

// Why an attempt stays. Of several reasons the first of this order is counted.
enum class KeptFor {
  baseline,    // an entry of the ledger is made of it, in force or not
  alert,       // a night that an alert is about, or a comparison that confirmed it
  comparison,  // a pair of an A/B comparison
  tag,         // of the attempt, or of its run
  note,        // the same
  history,     // a night that the screen looks back on (HistoryQuery::nights), its control, and the control's first
  recent,      // PruneRule::keep_days
  newest,      // PruneRule::keep_sweeps
  no_sweep     // outside a sweep, and no days were given: no sweep of it is older or newer
};

struct PruneRule {
  // The newest so many sweeps of each matrix; controls, comparisons and reproductions are counted by themselves.
  std::optional<std::int64_t> keep_sweeps = {};
  // What was started within so many days before now.
  std::optional<std::int64_t> keep_days = {};
};

enum class PruneEvidence { keep, remove };
enum class PruneDo { say, remove };

struct PruneRequest {
  PruneRule rule;
  PruneDo act = PruneDo::say;
  PruneEvidence evidence = PruneEvidence::keep;
  std::filesystem::path runs;  // of the database's run directories
  std::string now_utc;
};

struct PruneResult {
  std::int64_t attempts = 0;          // that go
  std::int64_t step_rows = 0;         // of those
  std::int64_t database_bytes = 0;    // whole pages that they leave; VACUUM finds some more
  std::int64_t evidence_folders = 0;  // run directories of those attempts; 0 with PruneEvidence::keep
  std::int64_t evidence_bytes = 0;
  std::map<KeptFor, std::int64_t> kept;  // attempts that stay
  std::vector<std::string> problems;     // what was to go and did not: a folder that cannot be removed, VACUUM
};

// Deletes in one transaction; with PruneDo::say it is rolled back, so that what it says is what would be freed. Run
// directories go after the commit, each only if its attempt.json is that of the very attempt (evidence_place.h), and no
// symbolic link is followed. At last the file shrinks (VACUUM). Throws InputError for a rule that keeps nothing in
// particular.
PruneResult prune(Connection& db, const PruneRequest& request);

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::KeptFor> {
  using K = perfbench::harness::KeptFor;
  static constexpr std::array kNames{
      std::pair{K::baseline, "baseline"}, std::pair{K::alert, "alert"},   std::pair{K::comparison, "comparison"},
      std::pair{K::tag, "tag"},           std::pair{K::note, "note"},     std::pair{K::history, "history"},
      std::pair{K::recent, "recent"},     std::pair{K::newest, "newest"}, std::pair{K::no_sweep, "no_sweep"}};
};
