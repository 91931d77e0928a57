// The first page of a server, from the rows of a database, and the choices of its report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/serve/views.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/judgement_ledger.h"
#include "harness/store/queries/running_sweeps.h"
#include "harness/system/utc.h"
#include "reports/render/document/render.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class FirstPage : public testing::Test {
 protected:
  FirstPage() {
    for (int i = 1; i <= 4; ++i) {
      ExampleRun example{
          .attempt = example_attempt(
              "remat=" + std::string(i % 2 == 0 ? "none" : "full") + " attention=" + (i < 3 ? "flash" : "dot"), i)};
      example.attempt.sweep_kind = SweepKind::night;
      example.attempt.sweep_id = "night-one";
      example.run.seed = i;
      write_run_directory(scratch_ / std::to_string(i), example);
    }
    ingest_tree(db_, scratch_.path());
  }

  std::string page(const std::string& path, const std::map<std::string, std::string>& parameters = {}) {
    reports::MemoryCounts counts({.file = "/nonexistent/engine"});
    const ViewRequest request{.path = path, .parameters = parameters};
    return render_html(view(db_, request, Installation{.engine = "/nonexistent/engine"}, counts));
  }

  ScratchFolder scratch_;
  Connection db_ = open_database(scratch_ / "q.db");
};

TEST_F(FirstPage, HasTheNewestNightItsSeriesAndTheRunningSweep) {
  const auto before = page("/");
  EXPECT_THAT(before, HasSubstr("Series that changed most"));
  EXPECT_THAT(before, Not(HasSubstr("Running sweeps")));
  EXPECT_THAT(before, Not(HasSubstr("newest night of")));
  add_judgement(db_, {.judgement_id = "night-one",
                      .kind = JudgementKind::night,
                      .matrix = "example",
                      .made_utc = "2026-01-01T03:00:00Z",
                      .lines = {{.part = LedgerPart::answer, .text = "REGRESSED"}}});
  record_running(db_, {.sweep_id = "running-one", .sign_utc = utc_now(), .attempts = 12, .finished = 5});
  const auto after = page("/");
  EXPECT_THAT(after, HasSubstr("newest night of example"));
  EXPECT_THAT(after, HasSubstr("REGRESSED"));
  EXPECT_THAT(after, HasSubstr("running-one"));
  EXPECT_THAT(after, HasSubstr("5 of 12"));
}

TEST_F(FirstPage, AListSaysHowAPageShowsMore) {
  EXPECT_THAT(
      page("/runs", {{"limit", "1"}}),
      AllOf(HasSubstr("These are the first 1; the fields above choose more rows"), Not(HasSubstr("--limit N"))));
}

TEST_F(FirstPage, AReportTakesTheAxesOfItsHeatMap) {
  EXPECT_THAT(page("/report", {{"heat-map", "attention,remat"}}), HasSubstr("by attention and remat"));
  EXPECT_THAT(page("/report", {{"heat-map", "remat,attention"}}), HasSubstr("by remat and attention"));
  EXPECT_THROW(page("/report", {{"heat-map", "remat,nope"}}), InputError);
}

}  // namespace
}  // namespace perfbench::harness
