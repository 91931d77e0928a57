// Finds the baseline that `--baseline` names, and compares with it.
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
  // "published:SYSTEM/ID", "run:ID", "attempt:ID/N", the name of a baseline in the ledger, the start of a run id, or
  // the id of a sweep; looked up in this order. Names of runs may be followed by "@SUBJECT" (parse_selection).
  std::string baseline;
  // If there are several, evaluation metrics are skipped for cells whose run evaluates nothing.
  std::vector<std::string> metrics = {"step_time_s"};
  spec::FlopDefinition definition = spec::FlopDefinition::causal;
  AbsentCells absent = AbsentCells::passed_over;  // for baselines that are sweeps or entries of the ledger
  KnownSessions sessions = {};                    // for the metrics that vary between sessions
  std::string now_utc;                            // baselines that have expired by then are not in force
};

struct ComparedAgainst {
  std::vector<CellComparison> comparisons;
  std::optional<PublishedEntry> published;  // the row, if the baseline is one, by its own name or through an entry
};

// The metrics that `--metric gate` stands for: kGateMetrics if any of the cells is one of perfbench-engine, and those
// of program_rules() for each program.
std::vector<std::string> gate_metrics(const std::vector<CellRuns>& cells);

// Compares each metric in turn. A significant difference must survive Benjamini-Hochberg over all of them. Cells on
// several machines are compared separately if the caller split them (split_by_machine). Throws InputError if the name
// is unknown, with the closest names, and for a baseline that mixes subjects, with a list of them.
ComparedAgainst compare_against(const Connection& db, const PublishedCatalog& published, std::vector<CellRuns> current,
                                const HardwareByName& hardware, const AgainstRequest& request);

}  // namespace perfbench::harness
