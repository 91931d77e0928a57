// What `--baseline` names, found and compared with.
#pragma once

#include <string>
#include <vector>

#include "harness/compare/compare.h"
#include "harness/compare/device_peak.h"
#include "harness/compare/published_catalog.h"

namespace perfbench::harness {

struct AgainstRequest {
  // "published:SYSTEM/ID", "run:ID", "attempt:ID/N", the name of a baseline in the ledger, the start of a run id, or a
  // sweep's id; looked for in this order.
  std::string baseline;
  std::string metric = "step_time_s";
  spec::FlopDefinition definition = spec::FlopDefinition::causal;
  std::string now_utc;  // baselines that have expired by then are not in force
};

// Throws InputError when nothing of that name exists, with the nearest names.
std::vector<CellComparison> compare_against(const Connection& db, const PublishedCatalog& published,
                                            const std::vector<CellRuns>& current, const HardwareByName& hardware,
                                            const AgainstRequest& request);

}  // namespace perfbench::harness
