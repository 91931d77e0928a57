// Documents about many runs of a database: reports, comparisons with a baseline, histories and alerts. Commands
// print them, and a server shows the same ones.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/app/installation.h"
#include "harness/app/night/history.h"
#include "harness/app/runs/stored_tables.h"
#include "harness/records/alert.h"
#include "harness/store/database.h"
#include "reports/content/columns.h"
#include "reports/content/row_choice.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// How a report looks: the columns of a style, or those that the user names.
struct ReportLook {
  TableStyle style = TableStyle::table;
  RowChoice rows = {};
};
Document report_view(const harness::Connection& db, const harness::TableQuery& query, const ReportLook& look,
                     const harness::Installation& installation);

// `baseline` is the name that the user gave.
Document comparison_view(const harness::ComparedCells& compared, const std::string& baseline);

// If no night has the metric, the document says so.
struct HistoryView {
  std::shared_ptr<const harness::HistoryResult> result;
  Document document;
};
HistoryView history_view(const harness::Connection& db, const harness::HistoryQuery& query,
                         const harness::ScreenBudget& budget = {});

Document alerts_view(const std::vector<harness::Alert>& alerts);
Document alert_view(const harness::Alert& alert);

}  // namespace perfbench::reports
