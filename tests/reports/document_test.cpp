// A document in each of its formats, and text at the widths of terminals.
#include "reports/render/document/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/render/document/render.h"
#include "reports/render/document/terminal.h"
#include "reports/render/document/text_lines.h"
#include "reports/render/format/print.h"

namespace perfbench::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t columns_of(const std::string& line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

std::size_t widest(const std::string& text) {
  std::size_t out = 0;
  for (const auto& line : lines_of(text)) out = std::max(out, columns_of(line));
  return out;
}

// Every word of every cell, title and note is still there.
void expect_complete(const Table& table, const std::string& text) {
  const auto has_words = [&](const std::string& of) {
    std::istringstream words(of);
    for (std::string word; words >> word;) EXPECT_THAT(text, HasSubstr(word));
  };
  for (const auto& column : table.columns) has_words(column.title);
  for (const auto& row : table.rows) {
    for (const auto& cell : row.cells) has_words(cell.text);
    for (const auto& note : row.notes) has_words(note);
  }
}

// The number of columns that a report has; two of them contain sentences.
Table wide_table(std::size_t rows = 3) {
  Table table{.key = "rows", .columns = {}, .rows = {}};
  for (int i = 0; i < 9; ++i) {
    table.columns.push_back(
        {.title = "Fixed " + std::to_string(i), .key = "fixed_" + std::to_string(i), .align = Align::left});
  }
  table.columns.push_back({.title = "Cell", .key = "cell"});
  table.columns.push_back({.title = "Step Time (s)", .key = "step_time_s", .align = Align::right});
  table.columns.push_back({.title = "Why", .key = "why"});
  for (std::size_t r = 0; r < rows; ++r) {
    Row row;
    for (int i = 0; i < 9; ++i) row.cells.emplace_back("value-" + std::to_string(i));
    row.cells.emplace_back("model=gpt-mini attention=flash remat=full number=" + std::to_string(r));
    row.cells.emplace_back("123456789" + std::to_string(r), static_cast<double>(r));
    row.cells.emplace_back("the machine's speed moved by 12.5 % during run " + std::to_string(r));
    table.rows.push_back(row);
  }
  return table;
}

std::string text_of(const Table& table, std::size_t width) {
  Document document;
  document.add(table);
  return render_text(document, {.width = width});
}

TEST(DocumentText, NoLineIsWiderThanTheWidthAndNothingIsLeftOut) {
  for (const std::size_t width : {20U, 40U, 80U, 120U, 200U}) {
    const auto text = text_of(wide_table(), width);
    EXPECT_LE(widest(text), width) << text;
    expect_complete(wide_table(), text);
  }
}

TEST(DocumentText, ValuesThatAllRowsShareArePrintedOnceAboveATableThatIsTooWide) {
  const auto text = text_of(wide_table(), 120);
  EXPECT_THAT(text, testing::StartsWith("Fixed 0: value-0; Fixed 1: value-1; "));
  EXPECT_EQ(text.find("value-0"), text.rfind("value-0"));
  EXPECT_THAT(text_of(wide_table(1), 300), Not(HasSubstr("Fixed 0: "))) << "which fits";
  EXPECT_THAT(text_of(wide_table(1), 80), testing::StartsWith("Fixed 0: value-0\nFixed 1: value-1\n"))
      << "of one row nothing is shared";
}

TEST(DocumentText, ACellThatIsTooWideIsWrappedBetweenWordsAndNumbersStayWhole) {
  Table table{.key = "rows",
              .columns = {{.title = "Cell", .key = "cell"},
                          {.title = "Step Time (s)", .key = "s", .align = Align::right},
                          {.title = "Why", .key = "why"}},
              .rows = {}};
  table.rows.push_back({.cells = {"a", Cell("1.5", 1.5), "moved by 12.5 % of all that there is to see"}});
  table.rows.push_back({.cells = {"bb", Cell("10.25", 10.25), "not"}});
  EXPECT_EQ(text_of(table, 80),
            "Cell  Step Time (s)  Why\n"
            "a               1.5  moved by 12.5 % of all that there is to see\n"
            "bb            10.25  not\n");
  EXPECT_EQ(text_of(table, 34),
            "Cell  Step Time (s)  Why\n"
            "a               1.5  moved by\n"
            "                     12.5 % of all\n"
            "                     that there is\n"
            "                     to see\n"
            "bb            10.25  not\n");
}

TEST(DocumentText, ATableThatCannotFitIsABlockOfLinesForEachRow) {
  const auto text = text_of(wide_table(2), 30);
  EXPECT_THAT(
      text, HasSubstr("\nCell: model=gpt-mini\n  attention=flash remat=full\n  number=0\nStep Time (s): 1234567890\n"));
  EXPECT_THAT(text, HasSubstr("\n\nCell: model=gpt-mini\n"));
  EXPECT_LE(widest(text), 30U) << text;
}

TEST(DocumentText, AWordThatIsWiderThanTheWidthStaysWhole) {
  Table table{.key = "rows", .columns = {{.title = "A", .key = "a"}, {.title = "B", .key = "b"}}, .rows = {}};
  const std::string word(90, 'x');
  table.rows.push_back({.cells = {word, "small"}});
  EXPECT_EQ(text_of(table, 80), "A:\n  " + word + "\nB: small\n");
}

TEST(DocumentText, WithoutALimitNothingIsMovedOrWrapped) {
  const auto lines = lines_of(text_of(wide_table(), 0));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_GT(lines[1].size(), 190U);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), ""), 0);
}

TEST(DocumentText, ParagraphsListsNotesAndFootnotesAreWrappedToo) {
  Document document;
  std::string sentence;
  for (int i = 0; i < 30; ++i) sentence += (i == 0 ? "" : " ") + std::string("word") + std::to_string(i);
  document.add(Heading{.text = sentence});
  document.add(Paragraph{.text = sentence});
  document.add(List{.items = {sentence, "short"}});
  document.add(Note{.text = sentence});
  document.add(
      Table{.key = "rows", .columns = {{.title = "A", .key = "a"}}, .rows = {{.cells = {"x"}, .notes = {sentence}}}});
  for (const std::size_t width : {80U, 120U, 200U}) {
    const auto text = render_text(document, {.width = width});
    EXPECT_LE(widest(text), width) << text;
    EXPECT_THAT(text, HasSubstr("\n  word")) << "the items' further lines";
    EXPECT_THAT(text, HasSubstr("\n    word")) << "the footnote's";
    EXPECT_THAT(text, HasSubstr("\n- short\n"));
  }
  EXPECT_GT(widest(render_text(document, {.width = 0})), 200U);
}

Document with_notes() {
  Document document;
  document.add(Table{.key = "rows",
                     .columns = {{.title = "A", .key = "a"}, {.title = "N", .key = "n", .align = Align::right}},
                     .rows = {{.cells = {"x", Cell("1", std::int64_t{1})}, .notes = {"noisy"}},
                              {.cells = {"y", Cell("12", std::int64_t{12})}},
                              {.cells = {"z", Cell("3", std::int64_t{3})}, .notes = {"slow", "noisy"}}}});
  return document;
}

TEST(DocumentFootnotes, EqualNotesOfRowsAreOne) {
  EXPECT_EQ(render_text(with_notes(), {}),
            "A   N\n"
            "x   1  [1]\n"
            "y  12\n"
            "z   3  [2] [1]\n"
            "[1] noisy\n"
            "[2] slow\n");
  EXPECT_EQ(render_markdown(with_notes()),
            "| A   | N         |\n"
            "| --- | --------: |\n"
            "| x   | 1 [1]     |\n"
            "| y   | 12        |\n"
            "| z   | 3 [2] [1] |\n"
            "\n[1] noisy\n"
            "\n[2] slow\n");
}

TEST(DocumentMarkdown, AFoldedSectionEndsAtTheNextHeading) {
  Document document;
  document.add(Heading{.level = 2, .text = "Findings <b>", .folded = true});
  document.add(Paragraph{.text = "inside"});
  document.add(Heading{.level = 2, .text = "Next"});
  document.add(Heading{.level = 2, .text = "Last", .folded = true});
  document.add(Paragraph{.text = "end"});
  EXPECT_EQ(render_markdown(document),
            "<details>\n<summary>\n\nFindings &lt;b>\n\n</summary>\n\ninside\n\n</details>\n\n## Next\n\n"
            "<details>\n<summary>\n\nLast\n\n</summary>\n\nend\n\n</details>\n");
}

TEST(DocumentMarkdown, AHeadingHasItsLevelAndItsTextIsNotMarkup) {
  Document document;
  document.add(Heading{.level = 2, .text = "# a *b*"});
  EXPECT_EQ(render_markdown(document), "## \\# a \\*b\\*\n");
}

// The user's terminal shows these characters in that many columns, whatever the locale is.
TEST(DocumentText, CountsTheColumnsThatCharactersTake) {
  EXPECT_EQ(width_of("plain"), 5U);
  EXPECT_EQ(width_of("größe"), 5U);
  EXPECT_EQ(width_of("日本語"), 6U);
  EXPECT_EQ(width_of("😀"), 2U);
  EXPECT_EQ(width_of("e\u0301"), 1U) << "an accent that combines";
  EXPECT_EQ(width_of("a\xFF"), 2U) << "a byte that is not UTF-8 is shown as U+FFFD";
}

// Two rows with a setting that differs, one that both share, one that nobody gave, and a shared result.
Document runs_with_settings(std::size_t rows) {
  Table table{
      .key = "rows",
      .columns = {{.title = "Remat", .key = "remat", .is_setting = true},
                  {.title = "Precision", .key = "precision", .is_setting = true},
                  {.title = "Scan", .key = "scan", .is_setting = true},
                  {.title = "Verdict", .key = "verdict"}},
      .rows = {{.cells = {"none", "2 cores, FP32", "-", "SAME"}}, {.cells = {"full", "2 cores, FP32", "-", "SAME"}}}};
  table.rows.resize(rows);
  Document out;
  out.add(std::move(table));
  return out;
}

TEST(DocumentTable, SettingsThatAllRowsShareStandAboveIt) {
  const auto runs = runs_with_settings(2);
  EXPECT_EQ(render_markdown(runs),
            "Precision: 2 cores, FP32\n\n| Remat | Verdict |\n| ----- | ------- |\n| none  | SAME    |\n| full  | SAME "
            "   |\n");
  EXPECT_EQ(render_text(runs, {.width = 0}), "Precision: 2 cores, FP32\n\nRemat  Verdict\nnone   SAME\nfull   SAME\n");
  EXPECT_EQ(render_csv(runs),
            "remat,precision,scan,verdict\r\nnone,\"2 cores, FP32\",-,SAME\r\nfull,\"2 cores, FP32\",-,SAME\r\n");
}

TEST(DocumentTable, OneRowSharesItsSettingsWithNoOther) {
  EXPECT_THAT(render_markdown(runs_with_settings(1)), HasSubstr("| Remat | Precision     | Scan | Verdict |"));
}

TEST(DocumentTable, WithoutRowsSaysSo) {
  Table table{.key = "rows", .columns = {{.title = "Cell", .key = "cell"}, {.title = "Why", .key = "why"}}, .rows = {}};
  Document document;
  document.add(table);
  EXPECT_EQ(render_text(document, {}), "Cell  Why\n(no rows)\n");
  EXPECT_EQ(render_csv(document), "cell,why\r\n");
  EXPECT_EQ(nlohmann::json::parse(render_json(document)), nlohmann::json::parse(R"({"rows": []})"));
  EXPECT_EQ(render_markdown(document), "| Cell | Why |\n| ---- | --- |\n");
  EXPECT_LE(widest(text_of(wide_table(0), 20)), 20U);
  EXPECT_THAT(text_of(wide_table(0), 20), HasSubstr("(no rows)"));
}

TEST(DocumentTable, ATableForOneAudienceDoesNotExistForTheOther) {
  Document document;
  document.add(Table{.key = "people",
                     .columns = {{.title = "Seen", .key = "seen", .audience = Audience::people}},
                     .rows = {{.cells = {"by people"}}}});
  document.add(Table{.key = "programs",
                     .columns = {{.title = "Read", .key = "read", .audience = Audience::programs}},
                     .rows = {{.cells = {"by programs"}}}});
  EXPECT_EQ(render_text(document, {}), "Seen\nby people\n");
  EXPECT_EQ(render_markdown(document), "| Seen      |\n| --------- |\n| by people |\n");
  EXPECT_EQ(render_csv(document), "read\r\nby programs\r\n");
  EXPECT_EQ(nlohmann::json::parse(render_json(document)),
            nlohmann::json::parse(R"({"programs": [{"read": "by programs"}]})"));
}

TEST(DocumentValues, AreRawForProgramsAndTextForPeople) {
  Document document;
  document.add(Table{.key = "rows",
                     .columns = {{.title = "Memory", .key = "bytes"},
                                 {.title = "On", .key = "on"},
                                 {.title = "None", .key = "none"},
                                 {.title = "Many", .key = "many"}},
                     .rows = {{.cells = {Cell("1.5 GiB", 1610612736.5), Cell("On", true), Cell("-", Value()),
                                         Cell("a, b", std::vector<std::string>{"a", "b"})}}}});
  EXPECT_EQ(render_csv(document), "bytes,on,none,many\r\n1610612736.5,true,,a; b\r\n");
  EXPECT_EQ(nlohmann::json::parse(render_json(document))["rows"][0],
            nlohmann::json::parse(R"({"bytes": 1610612736.5, "on": true, "none": null, "many": ["a", "b"]})"));
  EXPECT_THAT(render_text(document, {}), HasSubstr("1.5 GiB  On  -     a, b"));
  document.json = [] { return std::string("{}\n"); };
  EXPECT_EQ(render_json(document), "{}\n") << "what the document says of itself";
}

TEST(DocumentColour, IsUsedOnlyOnRequest) {
  Document document;
  document.add(Paragraph{.text = "failed", .tone = Tone::bad});
  document.add(Table{.key = "rows",
                     .columns = {{.title = "V", .key = "v"}, {.title = "W", .key = "w"}},
                     .rows = {{.cells = {Cell("SAME", std::string("SAME"), Tone::good), "x"}},
                              {.cells = {Cell("?", std::string("?"), Tone::doubtful), "y"}}}});
  EXPECT_EQ(render_text(document, {}), "failed\n\nV     W\nSAME  x\n?     y\n");
  EXPECT_EQ(render_text(document, {.colour = true}),
            "\x1b[31mfailed\x1b[0m\n\nV     W\n\x1b[32mSAME\x1b[0m  x\n\x1b[33m?\x1b[0m     y\n");
  for (const auto format : {DocumentFormat::markdown, DocumentFormat::csv, DocumentFormat::json}) {
    EXPECT_THAT(render(document, format, {.colour = true}), Not(HasSubstr("\x1b")));
  }
}

TEST(DocumentColour, IsTheOnlyEscapeSequence) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  print_coloured(file, "\x1b[31mbad\x1b[0m\n\x1b]0;t\x07\n::x\n");
  print_text(file, "\x1b[31m\n");
  std::rewind(file);
  std::string out(200, '\0');
  out.resize(std::fread(out.data(), 1, out.size(), file));
  std::fclose(file);
  EXPECT_EQ(out, "\x1b[31mbad\x1b[0m\n\\x1b]0;t\\x07\n\\::x\n\\x1b[31m\n");
}

// Each format in its own way; also at widths that put the second command at the beginning of a line.
TEST(DocumentEscaping, HoldsInEachFormat) {
  const std::string hostile = "zq\n::error::1 ::warning::2\x1b[31m<b>|`c`[x](y)##[error]3,\"=\xff";
  Document document;
  document.add(Heading{.text = hostile});
  document.add(Paragraph{.text = hostile});
  document.add(List{.items = {hostile}});
  document.add(Note{.text = hostile});
  document.add(Table{.key = "rows",
                     .columns = {{.title = hostile, .key = hostile}, {.title = "B", .key = "b"}},
                     .rows = {{.cells = {hostile, "=cmd()"}, .notes = {hostile}}, {.cells = {"::x", "y"}}}});
  for (const std::size_t width : {0U, 14U, 20U, 80U}) {
    const auto text = render_text(document, {.width = width, .colour = true});
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, Not(HasSubstr("##[")));
    for (const auto& line : lines_of(text)) {
      const auto first = line.find_first_not_of(' ');
      EXPECT_FALSE(first != std::string::npos && line.compare(first, 2, "::") == 0) << width << ": " << line;
    }
  }
  const auto markdown = render_markdown(document);
  EXPECT_THAT(markdown, Not(HasSubstr("<b>")));
  EXPECT_THAT(markdown, HasSubstr("\\|\\`c\\`"));
  EXPECT_THAT(render_csv(document), HasSubstr("'=cmd()"));
  EXPECT_THAT(render_csv(document), Not(HasSubstr("\x1b")));
  const auto json = nlohmann::json::parse(render_json(document));
  EXPECT_THAT(json["rows"][1].dump(), HasSubstr("::x"));
}

TEST(TextLayoutOfAStream, UsesTheRequestedWidthThenTheTerminalsThenTheEnvironments) {
  EXPECT_EQ(text_layout({}).width, 80U);
  EXPECT_EQ(text_layout({.columns = "132"}).width, 132U);
  EXPECT_EQ(text_layout({.columns = "wide"}).width, 80U);
  EXPECT_EQ(text_layout({.columns = "0"}).width, 80U);
  EXPECT_EQ(text_layout({.is_terminal = true, .terminal_columns = 100, .columns = "132"}).width, 100U);
  EXPECT_EQ(text_layout({.is_terminal = true, .terminal_columns = 100}, 60).width, 60U);
  EXPECT_EQ(text_layout({.is_terminal = true, .terminal_columns = 100}, 0).width, 0U) << "unlimited";
}

TEST(TextLayoutOfAStream, HasColoursOnATerminalUnlessSwitchedOff) {
  EXPECT_FALSE(text_layout({.term = "xterm"}).colour);
  EXPECT_TRUE(text_layout({.is_terminal = true, .term = "xterm"}).colour);
  EXPECT_FALSE(text_layout({.is_terminal = true, .no_colour = "1", .term = "xterm"}).colour);
  EXPECT_FALSE(text_layout({.is_terminal = true, .term = "dumb"}).colour);
}

// At least as wide as its words: 8 + 6 + 11 and two gaps of one.
TEST(DocumentText, NarrowsGapsAndBreaksTitlesAfterSlashesBeforeGivingUpTheTable) {
  Document document;
  document.add(Table{.key = "rows",
                     .columns = {{.title = "#devices of", .key = "a", .align = Align::right},
                                 {.title = "Steps/Sec", .key = "b", .align = Align::right},
                                 {.title = "Attention", .key = "c"}},
                     .rows = {{.cells = {"1", "1.25", "dot_product"}}, {.cells = {"2", "2.5", "flash"}}}});
  EXPECT_EQ(render_text(document, {.width = 27}),
            "#devices Steps/ Attention\n"
            "      of    Sec\n"
            "       1   1.25 dot_product\n"
            "       2    2.5 flash\n");
}

}  // namespace
}  // namespace perfbench::reports
