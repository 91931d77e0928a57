// The output of `perfbench list`: a table of things of one kind.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "harness/matrix/model_catalog.h"
#include "harness/matrix/published.h"
#include "harness/store/database.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

struct ListQuery {
  std::vector<std::string> where = {};  // conditions of listed_table.h, all of which must be met
  std::size_t limit = 50;               // largest number of rows
  std::string remedy = "--limit N shows more, --where KEY=VALUE selects fewer";  // if there are more rows
  // A page must be ready at once, so it checks at most this many runs, from the newest sweeps. It says so.
  std::size_t most_looked_at = std::numeric_limits<std::size_t>::max();
};

// Each has a table whose key is that of the kind, and a note if there are more rows than the limit. All throw
// InputError for an invalid condition (listed_table.h).
Document list_runs(const harness::Connection& db, const ListQuery& query);
Document list_sweeps(const harness::Connection& db, const ListQuery& query);
// Lists all entries. A note says what to do about names that have no entry in force.
Document list_baselines(const harness::Connection& db, const ListQuery& query);
Document list_tags(const harness::Connection& db, const ListQuery& query);
Document list_models(const harness::ModelCatalog& catalog, const ListQuery& query);
Document list_hardware(const harness::ModelCatalog& catalog, const ListQuery& query);
Document list_metrics(const ListQuery& query);
Document list_published(const harness::PublishedCatalog& catalog, const ListQuery& query);

}  // namespace perfbench::reports
