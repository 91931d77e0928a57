// What `--baseline` names, found and compared with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/cell_mfu.h"
#include "harness/judge/compare.h"
#include "harness/matrix/published.h"
#include "harness/store/database.h"

namespace perfbench::harness {

struct AgainstRequest {
  // "published:SYSTEM/ID", "run:ID", "attempt:ID/N", the name of a baseline in the ledger, the start of a run id, or a
  // sweep's id; looked for in this order. Behind those of runs may stand "@SUBJECT" (parse_selection).
  std::string baseline;
  // Of several, cells whose run evaluates nothing are passed over where a metric is of an evaluation.
  std::vector<std::string> metrics = {"step_time_s"};
  spec::FlopDefinition definition = spec::FlopDefinition::causal;
  AbsentCells absent = AbsentCells::passed_over;  // of baselines that are sweeps or entries of the ledger
  KnownSessions sessions = {};                    // of the metrics that vary between sessions
  std::string now_utc;                            // baselines that have expired by then are not in force
};

struct ComparedAgainst {
  std::vector<CellComparison> comparisons;
  std::optional<PublishedEntry> published;  // the row, where the baseline is one, by its own name or an entry's
};

// Of each metric in turn; a significant difference has to survive Benjamini-Hochberg over all of them. Cells on several
// machines are compared apart when they come split (split_by_machine). Throws InputError when nothing of that name
// exists, with the nearest names, and for a baseline that mixes subjects, with the list.
ComparedAgainst compare_against(const Connection& db, const PublishedCatalog& published, std::vector<CellRuns> current,
                                const HardwareByName& hardware, const AgainstRequest& request);

}  // namespace perfbench::harness
