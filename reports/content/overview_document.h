// The first page of a server: what needs attention, what runs, and how the newest nights compare with those before.
#pragma once

#include <string>
#include <vector>

#include "harness/records/alert.h"
#include "harness/records/judgement.h"
#include "harness/records/running_sweep.h"
#include "harness/records/series.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

struct Overview {
  std::string name;  // of the database
  std::vector<harness::Alert> live_alerts;
  std::vector<harness::NightAnswer> nights;     // the newest ones of each matrix, newest first
  std::vector<harness::SeriesHistory> history;  // of these nights; the control's is not shown
  std::vector<harness::RunningSweep> running;
};

// A title, the state of the alerts as the headline, cards for the newest night of each matrix and machine, the worst
// first, and tables of running sweeps and of the series that changed most. Lists of sweeps and runs are left to the
// caller.
Document overview_document(const Overview& overview);

}  // namespace perfbench::reports
