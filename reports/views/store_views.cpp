#include "reports/views/store_views.h"

#include "harness/judge/alert_rules.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "reports/content/alert_document.h"
#include "reports/content/comparison_text.h"
#include "reports/content/history_document.h"
#include "reports/content/report_document.h"

namespace perfbench::reports {

Document report_view(const harness::Connection& db, const harness::TableQuery& query, const ReportLook& look,
                     const harness::Installation& installation) {
  return report_document(harness::stored_tables(db, query, installation), look.style, look.rows);
}

Document comparison_view(const harness::ComparedCells& compared, const std::string& baseline) {
  return comparison_document(compared.comparisons, baseline);
}

HistoryView history_view(const harness::Connection& db, const harness::HistoryQuery& query,
                         const harness::ScreenBudget& budget) {
  const auto known = harness::known_shifts(harness::load_alerts(db, harness::AlertScope::all));
  const auto result =
      std::make_shared<const harness::HistoryResult>(harness::look_at_history(db, query, known, budget));
  if (!result->series.empty()) return {result, history_document(result)};
  Document none;
  none.add(Heading{.level = 1, .text = "History of " + query.metric});
  none.add(
      Note{"This database has no nights; `perfbench nightly` makes them, and a sweep by hand does not count as one."});
  return {result, std::move(none)};
}

Document alerts_view(const std::vector<harness::Alert>& alerts) {
  return alerts_document(harness::group_by_range(alerts));
}

Document alert_view(const harness::Alert& alert) {
  return alert_document(alert);
}

}  // namespace perfbench::reports
