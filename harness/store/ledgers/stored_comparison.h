// Comparisons as rows, complete, with attempts by their names: what an export carries. The ledger of those that are
// under way (comparison_ledger.h) writes the same rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/records/comparison.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

// Ids of those that were finished, oldest first.
std::vector<std::string> finished_comparisons(const Connection& db);

enum class ComparisonParts { all, without_pairs };  // and without turns

// Nothing where there is none. Throws UnreadableRow (harness/store/stored_row.h).
std::optional<StoredComparison> find_comparison(const Connection& db, const std::string& comparison_id,
                                                ComparisonParts parts = ComparisonParts::all);

// One that another database has, as it is there; its id is new here. Throws InputError where an attempt of it is not in
// the database.
void add_comparison(Connection& db, const StoredComparison& comparison);

}  // namespace perfbench::harness
