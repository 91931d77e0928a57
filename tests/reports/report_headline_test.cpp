// The first line of a report: how many cells are measured, and the fastest of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/content/report_document.h"
#include "reports/render/document/render.h"

namespace perfbench::reports {
namespace {

using testing::HasSubstr;

ReportRow report_row(const std::string& cell, std::int64_t runs, std::optional<double> step_time_s) {
  ReportRow out;
  out.cell = cell;
  out.model = "m";
  out.devices = 2;
  out.runs = runs;
  out.step_time_s = step_time_s;
  if (!step_time_s) return out;
  out.tokens_per_s = 1024 / *step_time_s;
  out.mfu_fraction = 0.1 / *step_time_s;
  return out;
}

Document example_document(std::vector<ReportRow> rows) {
  perfbench::reports::Report report{.title = "example"};
  report.rows = std::move(rows);
  return report_document({report}, TableStyle::table);
}

std::string report_text(std::vector<ReportRow> rows) {
  return render_text(example_document(std::move(rows)), {.width = 0});
}

Tone headline_tone(std::vector<ReportRow> rows) {
  for (const auto& block : example_document(std::move(rows)).blocks) {
    if (const auto* headline = std::get_if<Headline>(&block)) return headline->tone;
  }
  return Tone::plain;
}

TEST(ReportHeadline, CountsCellsAndNamesTheFastest) {
  const auto slow = report_row("slow", 1, 1.0);
  const auto quick = report_row("quick", 2, 0.5);
  const auto crashed = report_row("crashed", 0, std::nullopt);
  EXPECT_THAT(report_text({slow, quick, crashed}),
              HasSubstr("2 of 3 cells measured; most tokens/s/device: 1.02 k, 20.0 % MFU, quick\n"));
  EXPECT_THAT(report_text({slow}), HasSubstr("1 of 1 cell measured; tokens/s/device: 512, 10.0 % MFU\n"));
  EXPECT_THAT(report_text({crashed}), HasSubstr("0 of 1 cell measured\n"));
}

TEST(ReportHeadline, NamesANoisyCellOnlyIfAllAre) {
  const auto steady = report_row("steady", 1, 1.0);
  auto noisy = report_row("noisy", 1, 0.5);
  noisy.is_noisy = true;
  EXPECT_THAT(report_text({noisy, steady}), HasSubstr("most tokens/s/device: 512, 10.0 % MFU, steady\n"));
  EXPECT_THAT(report_text({noisy}),
              HasSubstr("tokens/s/device: 1.02 k, 20.0 % MFU; the machine's speed moved during every run, so that this "
                        "value is not reliable\n"));
  EXPECT_EQ(headline_tone({noisy, steady}), Tone::good);
  EXPECT_EQ(headline_tone({noisy}), Tone::doubtful);
}

TEST(ReportHeadline, LeavesOutPublishedRows) {
  auto published = report_row("theirs", 1, 0.1);
  published.is_published = true;
  EXPECT_THAT(report_text({report_row("ours", 1, 1.0), published}),
              HasSubstr("1 of 1 cell measured; tokens/s/device: 512,"));
}

}  // namespace
}  // namespace perfbench::reports
