#include "reports/check.h"

#include "harness/alerts/alert_rules.h"
#include "reports/alert_document.h"
#include "reports/alert_phrases.h"
#include "reports/document/render.h"

namespace perfbench::reports {

Check check_of(const harness::Alert& alert) {
  const auto& finding = alert.finding;
  Check out;
  out.suite = finding.series.matrix;
  out.name = finding.series.cell + " " + finding.series.metric;
  const bool failed = harness::is_live(alert.state()) && harness::is_bad(finding.kind);
  out.outcome = failed ? CheckOutcome::failed : CheckOutcome::passed;
  out.message = subject_text(finding) + ": " + change_text(finding) + ", commits " + range_text(finding) + " (alert " +
                alert.alert_id + ", " + std::string(spec::enum_name(alert.state())) + ")";
  out.detail = render_markdown(alert_document(alert));
  return out;
}

}  // namespace perfbench::reports
