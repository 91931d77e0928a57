// Removes attempts that nothing needs any more from a database and from its run directories.
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

// Why an attempt stays. If there are several reasons, the first one in this order counts.
enum class KeptFor {
  baseline,    // an entry of the ledger uses it, in force or not
  alert,       // a night of an alert, or a comparison that confirmed it
  comparison,  // a pair of an A/B comparison
  tag,         // of the attempt, or of its run
  note,        // likewise
  history,     // a night that the screen uses (HistoryQuery::nights), its control, and the control's first night
  recent,      // PruneRule::keep_days
  newest,      // PruneRule::keep_sweeps
  no_sweep     // outside a sweep, if no days were given: such an attempt has no position among sweeps
};

struct PruneRule {
  // Keeps this many newest sweeps of each matrix; controls, comparisons and reproductions are counted separately.
  std::optional<std::int64_t> keep_sweeps = {};
  // Keeps attempts that were started within this many days before now.
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
  std::int64_t attempts = 0;          // number of attempts that are removed
  std::int64_t step_rows = 0;         // of these attempts
  std::int64_t database_bytes = 0;    // whole pages that become free; VACUUM finds some more
  std::int64_t evidence_folders = 0;  // number of run directories of these attempts; 0 with PruneEvidence::keep
  std::int64_t evidence_bytes = 0;
  std::map<KeptFor, std::int64_t> kept;  // number of attempts that stay
  std::vector<std::string> problems;     // things that could not be removed: a folder that cannot be deleted, VACUUM
};

// Deletes in one transaction. With PruneDo::say it is rolled back, so the report says what would be freed. Run
// directories are removed after the commit, each only if its attempt.json belongs to exactly that attempt
// (evidence_place.h), and no symbolic link is followed. Finally the file is made smaller (VACUUM). Throws InputError
// for a rule that keeps nothing in particular.
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
