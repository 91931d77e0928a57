// What a night decided its cells by, for the ledger of decisions (harness/store/ledgers/judgement_ledger.h). Pure
// functions.
#pragma once

#include <string>
#include <vector>

#include "harness/app/night/night_report.h"
#include "harness/records/judgement.h"
#include "harness/store/ledgers/alert_ledger.h"

namespace perfbench::harness {

// A series as it was screened: from which nights, less what, and what the screen said.
void add_screened(std::vector<LedgerLine>& lines, const std::string& metric, const ScreenedSeries& series);

// `lines` of add_screened(), then what `report` made of them, and the alerts that the night opened or went on with.
Judgement judgement_of(const NightReport& report, std::vector<LedgerLine> lines,
                       const std::vector<RecordedFinding>& alerts, const std::string& made_utc);

}  // namespace perfbench::harness
