#include "reports/content/row_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/system/input_error.h"
#include "reports/content/report_document.h"
#include "reports/render/document/render.h"

namespace perfbench::reports {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

// Rows a, b, c, d: b has no numbers, and c and d have the same step time.
Table table() {
  Table out{.key = "rows", .columns = {}, .rows = {}};
  for (const auto* key : {"cell", "step_time_s", "mfu_fraction", "peak_memory_bytes"}) {
    out.columns.push_back({.title = key, .key = key, .audience = Audience::programs});
  }
  const auto add = [&](const char* name, Value seconds, Value mfu, Value bytes) {
    out.rows.push_back({.cells = {Cell(name), Cell("", seconds), Cell("", mfu), Cell("", bytes)},
                        .notes = {"of " + std::string(name)}});
  };
  add("a", 0.3, 0.25, std::int64_t{1024});
  add("b", Value(), Value(), Value());
  add("c", 0.2, 0.5, std::int64_t{2048});
  add("d", 0.2, 0.1, std::int64_t{512});
  return out;
}

TEST(RowChoice, SortsTheBestFirstAndRowsWithoutAValueLast) {
  EXPECT_THAT(chosen_rows(table(), {.sort = "step_time_s"}), ElementsAre(2, 3, 0, 1));
  EXPECT_THAT(chosen_rows(table(), {.sort = "mfu_fraction"}), ElementsAre(2, 0, 3, 1));
  EXPECT_THAT(chosen_rows(table(), {.sort = "peak_memory_bytes"}), ElementsAre(3, 0, 2, 1));
  EXPECT_THAT(chosen_rows(table(), {}), ElementsAre(0, 1, 2, 3));
}

TEST(RowChoice, SortsInTheDirectionThatIsAskedFor) {
  EXPECT_THAT(chosen_rows(table(), {.sort = "step_time_s:desc"}), ElementsAre(0, 2, 3, 1));
  EXPECT_THAT(chosen_rows(table(), {.sort = "mfu:asc"}), ElementsAre(3, 0, 2, 1));
  EXPECT_THAT(chosen_rows(table(), {.sort = "cell:desc"}), ElementsAre(3, 2, 1, 0));
}

TEST(RowChoice, SortsTextsOfProgramsAndNumbersThatAreTexts) {
  auto lengths = table();
  const std::vector<Value> values{std::string("16"), std::string("none"), std::string("2"), std::string("128")};
  for (std::size_t i = 0; i < values.size(); ++i) lengths.rows[i].cells[0] = Cell("", values[i]);
  EXPECT_THAT(chosen_rows(lengths, {.sort = "cell"}), ElementsAre(2, 0, 3, 1));
}

TEST(RowChoice, KnowsWhichWayADeclaredMetricIsBetter) {
  auto rewards = table();
  rewards.columns[1] = {.title = "reward", .key = "reward", .higher_is_better = true};
  EXPECT_THAT(chosen_rows(rewards, {.sort = "reward"}), ElementsAre(0, 2, 3, 1));
}

TEST(RowChoice, KeepsTheBestRows) {
  EXPECT_THAT(chosen_rows(table(), {.sort = "step_time", .best = 2}), ElementsAre(2, 3));
  EXPECT_THAT(chosen_rows(table(), {.sort = "step_time", .best = 9}), ElementsAre(2, 3, 0, 1));
}

TEST(RowChoice, ShowsTheNamedColumnsInTheirOrderWithUnits) {
  const auto shown = with_columns(table(), {.columns = {"peak_memory", "mfu", "cell"}}, Audience::people);
  const auto texts = [&](std::size_t row) {
    std::vector<std::string> out;
    for (const auto& cell : shown.rows[row].cells) out.push_back(cell.text);
    return out;
  };
  EXPECT_THAT(texts(0), ElementsAre("1.00 KiB", "25.0 %", "a"));
  EXPECT_THAT(texts(1), ElementsAre("-", "-", "b"));
  EXPECT_EQ(shown.rows[1].notes, std::vector<std::string>{"of b"});
  EXPECT_EQ(shown.columns[0].key, "peak_memory_bytes");
  EXPECT_EQ(shown.columns[0].align, Align::right);
  EXPECT_EQ(shown.columns[2].align, Align::left);
}

TEST(RowChoice, DecidesWhatEveryFormatOfAReportHas) {
  perfbench::reports::Report report{.title = "m", .baseline = {}, .rows = {}, .left_out = {}};
  for (const double step_s : {0.5, 0.25, 0.75}) {
    ReportRow row;
    row.model = "llama-tiny";
    row.seq_len = static_cast<std::int64_t>(64 * step_s);
    row.step_time_s = step_s;
    report.rows.push_back(row);
  }
  const RowChoice choice{.columns = {"seq_len", "model", "step_time"}, .sort = "step_time", .best = 2};
  const auto document = report_document({report}, TableStyle::table, choice);
  EXPECT_THAT(render_markdown(document), testing::AllOf(HasSubstr("| Sequence Length | Model      | Step Time (ms) |"),
                                                        HasSubstr("2 of 3 rows are shown")));
  EXPECT_THAT(render_markdown(document), HasSubstr("| 250.0          |")) << "in the unit of the shortest";
  EXPECT_EQ(render_csv(document), "seq_len,model,step_time_s\r\n16,llama-tiny,0.25\r\n32,llama-tiny,0.5\r\n");
  const auto rows = nlohmann::json::parse(render_json(document))["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].size(), 3U);
}

// The field that tells two rows apart is a column, even where the row that it was told from is not shown.
TEST(RowChoice, NamesColumnsOfAllRows) {
  perfbench::reports::Report first{.title = "first", .baseline = {}, .rows = {}, .left_out = {}};
  for (const double step_s : {0.5, 0.25}) {
    ReportRow row;
    row.varied["optimizer.beta2"] = step_s > 0.3 ? "0.95" : "0.9";
    row.step_time_s = step_s;
    first.rows.push_back(row);
  }
  auto second = first;
  second.rows.resize(1);
  second.rows[0].declared["reward"] = {.value = 7};
  const RowChoice choice{.columns = {"optimizer.beta2", "reward"}, .sort = "step_time", .best = 1};
  EXPECT_EQ(render_csv(report_document({first, second}, TableStyle::table, choice)),
            "optimizer.beta2,reward\r\n0.9,\r\n0.95,7\r\n");
}

TEST(RowChoice, NamesTheClosestColumnForAMistake) {
  EXPECT_THAT([] { with_columns(table(), {.columns = {"mfuu"}}, Audience::people); },
              ThrowsMessage<harness::InputError>(
                  testing::AllOf(HasSubstr("--columns 'mfuu'"), HasSubstr("cell, step_time_s"))));
  EXPECT_THAT([] { chosen_rows(table(), {.sort = "step_tiem_s"}); },
              ThrowsMessage<harness::InputError>(HasSubstr("did you mean 'step_time_s'?")));
}

TEST(RowChoice, APriceGivesWhatAMillionTokensCost) {
  const auto text = [](const ReportRow& row, double price) {
    return render_markdown(report_document(std::vector{perfbench::reports::Report{.title = "t", .rows = {row}}},
                                           TableStyle::table, {.device_hour_price = price}));
  };
  ReportRow row;
  row.devices = 2;
  row.tokens_per_s = 512;
  EXPECT_THAT(text(row, 0), Not(HasSubstr("Cost")));
  EXPECT_THAT(text(row, 3.6), AllOf(HasSubstr("Cost/1M tokens"), HasSubstr("| 3.906"))) << "3.6 / 3600 / 256 * 1e6";
  row.tokens_per_s = {};
  EXPECT_THAT(text(row, 3.6), AllOf(Not(HasSubstr("Cost/1M tokens")), HasSubstr("--price gives no cost")));
}

}  // namespace
}  // namespace perfbench::reports
