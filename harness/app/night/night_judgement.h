// The basis of a night's decisions, for the ledger of decisions (harness/store/ledgers/judgement_ledger.h). Pure
// functions.
#pragma once

#include <string>
#include <vector>

#include "harness/app/night/night_report.h"
#include "harness/records/judgement.h"
#include "harness/store/ledgers/alert_ledger.h"

namespace perfbench::harness {

// Adds a series as it was screened: its nights, the corrections, and the result.
void add_screened(std::vector<LedgerLine>& lines, const std::string& metric, const ScreenedSeries& series);

// Combines the `lines` of add_screened(), the results in `report`, and the alerts that the night opened or continued.
Judgement judgement_of(const NightReport& report, std::vector<LedgerLine> lines,
                       const std::vector<RecordedFinding>& alerts, const std::string& made_utc);

}  // namespace perfbench::harness
