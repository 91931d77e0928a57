// A document as a page: the content of the file. tests/browser tests its behaviour in a browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/render/document/render.h"

namespace perfbench::reports {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

Json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"document\">";
  const auto at = page.find(begin) + begin.size();
  return Json::parse(page.substr(at, page.find("</script>", at) - at));
}

Document small_document() {
  Document out;
  out.add(Heading{.level = 1, .text = "Night"});
  out.add(Paragraph{.text = "worse", .tone = Tone::bad});
  out.add(List{.items = {"a", "b"}});
  out.add(Note{"a note"});
  out.add(Series{.title = "trend", .unit = "s", .values = {1, 2, 3}});
  Table table{.key = "rows",
              .columns = {{.title = "Cell", .key = "cell"},
                          {.title = "Time", .key = "time_s", .align = Align::right},
                          {.title = "Id", .key = "id", .audience = Audience::programs}},
              .rows = {}};
  table.rows.push_back({.cells = {"x", Cell("1.50", 1.5, Tone::good), "p"}, .notes = {"why", "so"}});
  table.rows.push_back({.cells = {"x", Cell("-", Value()), "q"}, .notes = {"so"}});
  out.add(table);
  return out;
}

TEST(Page, HasEveryBlockAndEveryColumn) {
  const auto data = data_of(render_html(small_document()));
  EXPECT_EQ(data["title"], "Night");
  std::vector<std::string> kinds;
  for (const auto& block : data["blocks"]) kinds.push_back(block["kind"]);
  EXPECT_THAT(kinds, testing::ElementsAre("heading", "paragraph", "list", "note", "chart", "table"));
  EXPECT_EQ(data["blocks"][1]["tone"], "bad");
  const auto& table = data["blocks"][5];
  EXPECT_EQ(table["label"], "Night");
  EXPECT_EQ(table["rows"], 2);
  EXPECT_EQ(table["columns"][0]["texts"], Json({"x"})) << "once";
  EXPECT_EQ(table["columns"][0]["of"], Json({0, 0}));
  EXPECT_TRUE(table["columns"][0]["values"].is_null()) << "sorted by text";
  EXPECT_EQ(table["columns"][1]["values"], Json({1.5, nullptr}));
  EXPECT_EQ(table["columns"][1]["tones"], Json({{"0", "good"}}));
  EXPECT_EQ(table["columns"][1]["hidden"], false);
  EXPECT_EQ(table["columns"][2]["hidden"], true) << "may be chosen";
  EXPECT_EQ(table["notes"], Json({"why", "so"}));
  EXPECT_EQ(table["row_notes"], Json({{"0", {0, 1}}, {"1", {1}}}));
}

TEST(Page, BeginsWithATitleItsOriginAndTheAnswer) {
  Document document;
  document.page_title = "Runs";
  document.add(Headline{.text = "worse", .tone = Tone::bad});
  document.add(Cards{{{.title = "cells", .value = "1 of 2", .detail = "failed", .tone = Tone::doubtful}}});
  document.add(Heading{.level = 3, .text = "Details", .folded = true});
  document.add_origin("Date", "2026-01-31");
  document.add_origin("Commit", "");
  document.add_origin("Machine", "a CPU");
  const auto blocks = data_of(render_html(document))["blocks"];
  ASSERT_EQ(blocks.size(), 5U);
  EXPECT_EQ(blocks[0], Json({{"kind", "heading"}, {"level", 1}, {"text", "Runs"}}));
  EXPECT_EQ(blocks[1]["facts"], Json::parse(R"([["Date", "2026-01-31"], ["Machine", "a CPU"]])"))
      << "an unknown fact is left out";
  EXPECT_EQ(blocks[2], Json({{"kind", "headline"}, {"text", "worse"}, {"tone", "bad"}}));
  EXPECT_EQ(blocks[3]["cards"][0]["text"], "1 of 2");
  EXPECT_EQ(blocks[3]["cards"][0]["tone"], "doubtful");
  EXPECT_EQ(blocks[4]["level"], 2) << "no level is left out";
  EXPECT_EQ(blocks[4]["folded"], true);
  // Text and Markdown have the answer alone.
  EXPECT_EQ(render_text(document, {}), "worse\n\nDetails\n");
  EXPECT_THAT(render_markdown(document), StartsWith("**worse**\n\n<details>"));
}

TEST(Page, DataCannotEndItsElementOrTakeASlot) {
  Document document;
  const std::string hostile = "</script><!--<script>@SCRIPT@ @STYLE@ @DOCUMENT@\u202e";
  document.add(Heading{.level = 1, .text = hostile});
  const auto page = render_html(document);
  const auto plain = render_html(Document{});
  const auto count = [](const std::string& in, const std::string& what) {
    int found = 0;
    for (auto at = in.find(what); at != std::string::npos; at = in.find(what, at + 1)) ++found;
    return found;
  };
  for (const char* markup : {"<script", "</script", "<!--"}) EXPECT_EQ(count(page, markup), count(plain, markup));
  EXPECT_EQ(data_of(page)["title"], "</script><!--<script>@SCRIPT@ @STYLE@ @DOCUMENT@\\u202e");
  EXPECT_EQ(plain.find("@STYLE@"), std::string::npos);
}

TEST(Page, MakesNoRequests) {
  const auto page = render_html(small_document());
  for (const char* request : {"src=", "href=\"http", "url(", "@import", "XMLHttpRequest", "innerHTML", "connect-src"}) {
    EXPECT_EQ(page.find(request), std::string::npos) << request;
  }
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

TEST(Page, AServersPageLinksToOthersAndRequestsOnlyFromThatServer) {
  const Site site{.places = {{"Runs", "/runs"}}, .writable = true};
  auto document = small_document();
  document.actions = {"acknowledged", "wont_fix"};
  const auto page = page_of(document, site);
  EXPECT_THAT(page.policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page.policy, testing::EndsWith("connect-src 'self'"));
  EXPECT_NE(page.html.find(page.policy), std::string::npos);
  const auto data = data_of(page.html);
  EXPECT_EQ(data, Json::parse(page_data(document, site)));
  EXPECT_EQ(data["places"], Json({{{"text", "Runs"}, {"path", "/runs"}}}));
  EXPECT_EQ(data["actions"], Json({"acknowledged", "wont_fix"}));
  EXPECT_FALSE(data_of(page_of(document, {.places = site.places}).html).contains("actions"));
  EXPECT_FALSE(data_of(render_html(document)).contains("actions"));
  EXPECT_FALSE(data_of(render_html(document)).contains("places"));
}

// For two streams that are never idle together, no span lies within another one.
TEST(Page, ATimelineHasARowForEachConcurrentSpan) {
  TimelineLane lane{.name = "both", .spans = {}};
  for (std::int64_t i = 0; i < 1000; ++i) {
    lane.spans.push_back({.name = "a", .kind = "op", .start_ns = 5000 * i, .end_ns = 5000 * i + 9000});
  }
  Document document;
  document.add(Timeline{.key = "t", .title = "t", .lanes = {lane}});
  EXPECT_EQ(data_of(render_html(document))["blocks"][0]["lanes"][0]["rows"], 2);
}

TEST(Page, ATimelineListsEachNameOnceAndNestsSpansBelow) {
  Document document;
  document.add(Timeline{.key = "t",
                        .title = "Step 3",
                        .lanes = {{.name = "thread",
                                   .spans = {{"step", "phase", 1000, 9000},
                                             {"product", "op", 1000, 3000},
                                             {"product", "op", 3000, 5000}}},
                                  {.name = "stream", .spans = {{"copy", "copy", 8000, 12'500}}}},
                        .coloured = {"op"}});
  const auto block = data_of(render_html(document))["blocks"][0];
  EXPECT_EQ(block["names"], Json({"step", "product", "copy"}));
  EXPECT_EQ(block["coloured"], Json({"op"}));
  EXPECT_EQ(block["lanes"][0]["rows"], 2);
  EXPECT_EQ(block["lanes"][0]["spans"], Json({{0, 0, 0, 0.0, 8.0}, {1, 1, 1, 0.0, 2.0}, {1, 1, 1, 2.0, 2.0}}));
  EXPECT_EQ(block["lanes"][1]["spans"], Json({{2, 2, 0, 7.0, 4.5}}));
  EXPECT_EQ(block["length_us"], 11.5);
}

// As many runs as a database has after a year, with the data that reports have for each.
TEST(Page, TenThousandRunsAreBelowFiveMegabytes) {
  Table table{.key = "rows", .columns = {}, .rows = {}};
  constexpr int kColumns = 22;  // of a report
  for (int c = 0; c < kColumns; ++c) table.columns.push_back({.title = "Column", .key = "c" + std::to_string(c)});
  for (int r = 0; r < 10'000; ++r) {
    Row row;
    for (int c = 0; c < kColumns; ++c) {
      if (c < 6) {  // measurements: all different
        row.cells.emplace_back(std::to_string(r * 7 + c) + ".25", r * 7.0 + c + 0.25123);
      } else if (c < 8) {  // names of cells and runs
        row.cells.emplace_back("model=llama-110m attention=flash remat=minimal fsdp=" + std::to_string(r % 600));
      } else {
        row.cells.emplace_back("one of " + std::to_string(r % 12));
      }
    }
    table.rows.push_back(std::move(row));
  }
  Document document;
  document.add(table);
  EXPECT_LT(render_html(document).size(), 5'000'000U);
}

}  // namespace
}  // namespace perfbench::reports
