// Complete comparisons as rows, with attempts by their names, for exports. The ledger of running comparisons
// (comparison_ledger.h) writes the same rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/records/comparison.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

// Ids of the finished comparisons, oldest first.
std::vector<std::string> finished_comparisons(const Connection& db);

enum class ComparisonParts { all, without_pairs };  // without pairs means without turns, too

// nullopt if there is none. Throws UnreadableRow (harness/store/stored_row.h).
std::optional<StoredComparison> find_comparison(const Connection& db, const std::string& comparison_id,
                                                ComparisonParts parts = ComparisonParts::all);

// Adds a comparison of another database unchanged; its id must be new here. Throws InputError if one of its attempts is
// not in the database.
void add_comparison(Connection& db, const StoredComparison& comparison);

}  // namespace perfbench::harness
