#include "harness/app/night/night.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/app/night/night_judgement.h"
#include "harness/app/pairs/ab_preparation.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/store/ledgers/judgement_ledger.h"
#include "harness/system/utc.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kAuthor = "perfbench nightly";

template <class T>
std::vector<T> joined(std::vector<T> first, std::vector<T> second) {
  std::move(second.begin(), second.end(), std::back_inserter(first));
  return first;
}

// The report without the parts that depend on alerts.
NightReport report_of(const Night& night, Measured measured, Screened screened, Confirmed confirmed) {
  NightReport out;
  out.matrix = std::move(measured.matrix);
  out.started_utc = night.started_utc;
  out.sweep_id = night.sweep_id;
  out.cells_ok = measured.cells_ok;
  out.cells_failed = measured.cells_failed;
  out.cells_not_run = measured.cells_not_run;
  out.series = screened.series;
  out.too_few_nights = screened.too_few_nights;
  out.not_run = joined(std::move(measured.not_run), std::move(confirmed.not_run));
  out.unseen = joined(std::move(screened.unseen), std::move(confirmed.unseen));
  out.cells = std::move(screened.cells);
  out.notes = joined(joined(std::move(measured.notes), std::move(screened.notes)), std::move(confirmed.notes));
  out.findings = std::move(confirmed.findings);
  if (const auto& found = screened.noisier) out.findings.push_back({*found, Confirmation::not_needed, found->detail});
  out.shifted = std::move(screened.shifted);
  return out;
}

}  // namespace

fs::path NightOptions::runs_folder() const {
  return harness::runs_folder(ab.runs, ab.db);
}

fs::path NightOptions::archive_folder() const {
  return archive.empty() ? fs::path(ab.db).replace_extension(".engines") : archive;
}

Night::Night(NightOptions asked, const Installation& installed, Interruption& stop)
    : options(std::move(asked)),
      installation(installed),
      interruption(stop),
      catalog(installed.data_dir()),
      store(options.ab.db),
      archive(options.archive_folder()),
      remote(remote_sessions(options.ab.execution.launch, stop, JobUse::one_job)),
      sweep_id(execution_settings(options.ab.execution, SweepKind::night, {}, installed).sweep_id),
      started_utc(utc_now()) {
  check_pairs_elsewhere(options.ab);
  options.ab.execution.remote = remote.get();
}

NightReport raise_alerts(Night& night, Measured measured, Screened screened, Confirmed confirmed,
                         const AlertMessage& message) {
  auto& db = night.store.db();
  auto ledger = std::move(screened.ledger);
  auto report = report_of(night, std::move(measured), std::move(screened), std::move(confirmed));
  std::vector<Finding> findings;
  for (const auto& finding : report.findings) {
    if (makes_alert(finding)) findings.push_back(finding.finding);
  }
  std::vector<Alert> fresh;
  const auto alerts = record_findings(db, findings, kAuthor, utc_now());
  for (const auto& recorded : alerts) {
    const bool news =
        recorded.place.meaning == FindingMeaning::opens || recorded.place.meaning == FindingMeaning::comes_back;
    if (news) fresh.push_back(recorded.alert);
  }
  queue_alerts(db, fresh, message, utc_now());
  auto live = load_alerts(db, AlertScope::live);
  std::erase_if(live, [&](const Alert& alert) { return alert.finding.series.matrix != report.matrix; });
  report.cells = judge_cells(report.matrix, std::move(report.cells), report.findings, report.unseen, live);
  report.live_alerts = group_by_range(live);
  report.verdict = overall(verdicts_of(report.findings, report.not_run, report.unseen));
  if (night.options.exit_by_alerts == ExitByAlerts::yes) {
    auto verdicts = verdicts_of(live);
    verdicts.push_back(report.verdict);
    report.verdict = overall(verdicts);
  }
  add_judgement(db, judgement_of(report, std::move(ledger), alerts, utc_now()));
  return report;
}

}  // namespace perfbench::harness
