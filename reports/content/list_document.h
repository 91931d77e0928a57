// What `perfbench list` shows: a table of one kind of thing.
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
  std::vector<std::string> where = {};  // conditions of listed_table.h, all of which hold
  std::size_t limit = 50;               // rows
  // Of a page, which is to be there at once: of that many runs, of the newest sweeps, it is looked whether they fit. It
  // says so.
  std::size_t most_looked_at = std::numeric_limits<std::size_t>::max();
};

// Each has a table whose key is that of the kind, and a note where there were more rows than the limit. All throw
// InputError for a condition that cannot be (listed_table.h).
Document list_runs(const harness::Connection& db, const ListQuery& query);
Document list_sweeps(const harness::Connection& db, const ListQuery& query);
// Of all entries, and then what is to be done about names of which none is in force.
Document list_baselines(const harness::Connection& db, const ListQuery& query);
Document list_tags(const harness::Connection& db, const ListQuery& query);
Document list_models(const harness::ModelCatalog& catalog, const ListQuery& query);
Document list_hardware(const harness::ModelCatalog& catalog, const ListQuery& query);
Document list_metrics(const ListQuery& query);
Document list_published(const harness::PublishedCatalog& catalog, const ListQuery& query);

}  // namespace perfbench::reports
