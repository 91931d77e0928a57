// Comparisons in the store: tables ab_comparisons, ab_sides, ab_pairs, ab_turns, ab_turn_checks and ab_verdicts. The
// attempts themselves are ordinary ones, in a sweep that has the comparison's id.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/evidence/attempt.h"
#include "harness/judge/cell_verdict.h"
#include "harness/records/comparison.h"
#include "harness/records/executed_pair.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

// Starts a comparison now, with its sides, and sets the key.
void begin_comparison(Connection& db, ComparisonRecord& comparison);

// The newest unfinished comparison with these settings.
std::optional<ComparisonRecord> unfinished_comparison(const Connection& db, const std::string& settings);

// The start of the newest finished comparison for this purpose that began no later than `until_utc`; empty if there is
// none.
std::string last_comparison_utc(const Connection& db, const std::string& matrix, AbPurpose purpose,
                                const std::string& until_utc);

// Adds a complete pair in one transaction, so that a kill leaves only whole pairs.
void add_pair(Connection& db, std::int64_t comparison_key, const std::string& label, const ExecutedPair& pair);

// The labels of the cells that have a pair or a verdict, by their number.
std::map<std::int64_t, std::string> cell_labels(const Connection& db, std::int64_t comparison_key);

// In the order of cells and pairs.
std::vector<ExecutedPair> load_pairs(const Connection& db, std::int64_t comparison_key);

// The facts of the environment in which A ran that cell; empty if no run of A got that far.
std::map<std::string, std::string> facts_of_a(const Connection& db, const std::string& comparison_id,
                                              const std::string& cell);

// Stores its verdicts and the basis of the decisions (harness/store/ledgers/judgement_ledger.h), and marks it as
// finished.
void finish_comparison(Connection& db, const ComparisonRecord& comparison, const std::vector<CellVerdict>& cells,
                       const AbRule& rule = {});

// Stores a run directory and returns its facts for a comparison; the caller adds the circumstances. Throws as
// ingest_run_directory does.
SideRun store_side_run(Connection& db, const std::filesystem::path& attempt_dir, const AttemptRecord& record);

}  // namespace perfbench::harness
