// Comparisons in the store: tables ab_comparisons, ab_sides, ab_pairs, ab_turns, ab_turn_checks and
// ab_verdicts. The attempts themselves are ordinary ones, of the sweep that has the comparison's id.
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

// Begun now, with its sides. Sets the key.
void begin_comparison(Connection& db, ComparisonRecord& comparison);

// The newest one of these settings that was never finished.
std::optional<ComparisonRecord> unfinished_comparison(const Connection& db, const std::string& settings);

// When the newest one of this purpose that was finished began, of those up to `until_utc`; empty: there is none.
std::string last_comparison_utc(const Connection& db, const std::string& matrix, AbPurpose purpose,
                                const std::string& until_utc);

// In one transaction, as soon as it is complete: what a kill leaves is whole pairs.
void add_pair(Connection& db, std::int64_t comparison_key, const std::string& label, const ExecutedPair& pair);

// Of the cells that have a pair or a verdict, by their number.
std::map<std::int64_t, std::string> cell_labels(const Connection& db, std::int64_t comparison_key);

// In the order of cells and pairs.
std::vector<ExecutedPair> load_pairs(const Connection& db, std::int64_t comparison_key);

// Facts of the environment in which A ran that cell; empty where no run of A got that far.
std::map<std::string, std::string> facts_of_a(const Connection& db, const std::string& comparison_id,
                                              const std::string& cell);

// Its verdicts, by what they were decided (harness/store/ledgers/judgement_ledger.h), and that it is finished.
void finish_comparison(Connection& db, const ComparisonRecord& comparison, const std::vector<CellVerdict>& cells,
                       const AbRule& rule = {});

// Takes a run directory in and gives what a comparison needs of it; circumstances are the caller's to add. Throws as
// ingest_run_directory does.
SideRun store_side_run(Connection& db, const std::filesystem::path& attempt_dir, const AttemptRecord& record);

}  // namespace perfbench::harness
