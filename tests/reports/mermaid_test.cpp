// Charts in Mermaid's language: only what its grammar allows
// (packages/mermaid/src/diagrams/xychart/parser/xychart.jison of mermaid-js/mermaid).
#include "reports/render/chart/mermaid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/render/document/render.h"

namespace perfbench::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

Chart nights() {
  return {.key = "series",
          .title = "llama a",
          .x = {.title = "night"},
          .y = {.title = "s"},
          .series = {{.name = "quiet", .points = {{.x = 1, .y = 0.5}, {.x = 3, .y = 2e-7}}},
                     {.name = "noisy", .marks = Marks::points, .points = {{.x = 2, .y = 1.25}}}}};
}

TEST(Mermaid, DrawsAllNightsAsOneLine) {
  EXPECT_EQ(mermaid(nights()),
            "xychart-beta\n"
            "  title \"llama a\"\n"
            "  x-axis \"night\" 1 --> 3\n"
            "  y-axis \"s\" 0.0000002 --> 1.25\n"
            "  line [0.5, 1.25, 0.0000002]\n");
}

TEST(Mermaid, DrawsBarsOverTheirNamesAndLimitsAsLines) {
  Chart chart{.key = "memory",
              .title = "Memory",
              .x = {.title = "cell", .categories = {"a", "b c"}},
              .y = {.title = "GiB", .from_zero = true},
              .series = {{.name = "needed", .marks = Marks::bars, .points = {{.x = 0, .y = 3}, {.x = 1, .y = 4}}},
                         {.name = "has", .marks = Marks::ideal, .points = {{.x = 0, .y = 8}, {.x = 1, .y = 8}}},
                         {.name = "of one alone", .marks = Marks::ideal, .points = {{.x = 1, .y = 9}}}}};
  EXPECT_EQ(mermaid(chart),
            "xychart-beta\n"
            "  title \"Memory\"\n"
            "  x-axis \"cell\" [\"a\", \"b c\"]\n"
            "  y-axis \"GiB\" 0 --> 8\n"
            "  bar [3, 4]\n"
            "  line [8, 8]\n");
}

TEST(Mermaid, IsEmptyForChartsThatItCannotExpress) {
  auto uneven = nights();
  uneven.series[0].points[1].x = 7;
  EXPECT_EQ(mermaid(uneven), "");
  auto interval = nights();
  interval.series[0].points[0].low = 0.4;
  EXPECT_EQ(mermaid(interval), "");
  auto logarithmic = nights();
  logarithmic.x.scale = Scale::logarithmic;
  EXPECT_EQ(mermaid(logarithmic), "");
  auto twice = nights();
  twice.series[1].points[0].x = 1;
  EXPECT_EQ(mermaid(twice), "");
  auto one = nights();
  one.series.pop_back();
  one.series[0].points.pop_back();
  EXPECT_EQ(mermaid(one), "");
}

// A name cannot end its quotes, the line or the block, and cannot begin a comment or a setting.
TEST(Mermaid, KeepsTheLettersOfHostileNames) {
  auto chart = nights();
  chart.title = "a\"]\n```\n%%{init: {}}%% <b>`x`; \\";
  Document document;
  document.add(std::move(chart));
  const auto text = render_markdown(document, Pictures::mermaid);
  const auto title = text.substr(text.find("title"), text.find('\n', text.find("title")) - text.find("title"));
  EXPECT_EQ(std::count(title.begin(), title.end(), '"'), 2);
  for (const auto* mark : {"`", "%", "{", "<", "\\", ";"}) EXPECT_THAT(title, Not(HasSubstr(mark)));
  EXPECT_THAT(text, testing::StartsWith("```mermaid\nxychart-beta\n"));
  EXPECT_THAT(text, testing::EndsWith("]\n```\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '`'), 6);
  EXPECT_EQ(render_markdown(document), "") << "not where nobody asked for pictures";
}

}  // namespace
}  // namespace perfbench::reports
