// How each format escapes text that could act as markup or commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/render/format/escape.h"
#include "reports/render/format/markdown.h"
#include "reports/render/format/shown.h"

namespace perfbench::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

const char* const kOrdinary[] = {"llama-7b remat=full fsdp=2,tp=4",
                                 "Größe 5 µs, 模型 модель نموذج",
                                 "step_time_s 0.9 -> 1.1",
                                 "model=a_b mesh=[2, 4] (defaults)",
                                 "[matrix] m.yaml:3:5 unknown key 'seq'",
                                 "R&D 50 % > 3",
                                 "a <= 0.02, b < 3",
                                 "-3.2 %",
                                 "-",
                                 "+0.5 ms"};

TEST(Shown, LeavesOrdinaryNamesUnchanged) {
  for (const auto* text : kOrdinary) EXPECT_EQ(shown(text), text);
}

TEST(Shown, EscapesCharactersThatMoveTheCursorOrReorder) {
  EXPECT_EQ(shown("a\x1b[31mb\x07"), "a\\x1b[31mb\\x07");
  EXPECT_EQ(shown("\x7f \xc2\x9b"), "\\x7f \\x9b");  // delete, and the one-character form of ESC [
  EXPECT_EQ(shown("a\u202eb\u2028"), "a\\u202eb\\u2028");
  EXPECT_EQ(shown("\u061c\u200e\u200f\u2066\u2069"), "\\u061c\\u200e\\u200f\\u2066\\u2069");
  EXPECT_EQ(shown(std::string("a\0b", 3)), "a\\x00b");
}

TEST(Shown, IsOneLine) {
  EXPECT_EQ(shown("a\r\nb\tc"), "a  b c");
  EXPECT_EQ(shown_lines("a\tb\r\nc\nd\re"), "a\tb\r\nc\nd\\x0de");
}

TEST(Shown, IsValidUtf8ForAnyInput) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(shown("a\xff"
                  "b"),
            "a" + bad + "b");
  EXPECT_EQ(shown("\xc0\xaf"), bad + bad);                      // an overlong "/"
  EXPECT_EQ(shown("\xed\xa0\x80"), bad + bad + bad);            // half a surrogate pair
  EXPECT_EQ(shown("\xf4\x90\x80\x80"), bad + bad + bad + bad);  // beyond the last character
  EXPECT_EQ(shown("\xc3("), bad + "(");
  EXPECT_EQ(shown(std::string_view("模型").substr(0, 5)), "模" + bad + bad);  // cut off
}

// https://docs.github.com/actions/reference/workflow-commands-for-github-actions; runners skip blanks before "::" and
// find "##[" anywhere in a line.
TEST(Shown, NoLineIsACommandOfACiRunner) {
  EXPECT_EQ(shown_lines("a\n::error::b\n \t::c::\n\u00a0\u3000::d::\nstd::string"),
            "a\n\\::error::b\n \t\\::c::\n\u00a0\u3000\\::d::\nstd::string");
  EXPECT_EQ(shown_lines("::a::\n\u1680\u2000\u200a\u202f\u205f::b::"),
            "\\::a::\n\u1680\u2000\u200a\u202f\u205f\\::b::");
  EXPECT_EQ(shown("x ##[error]y ##vso[task] ##TeamCity[m] ## [a] #1"),
            "x #\\#[error]y #\\#vso[task] #\\#TeamCity[m] ## [a] #1");
  const auto once = shown_lines("::a\n##[b]\x1b");
  EXPECT_EQ(shown_lines(once), once) << "a second look changes nothing";
}

TEST(CutTo, EndsBetweenTwoCharacters) {
  EXPECT_EQ(cut_to("aµb", 2), "a");
  EXPECT_EQ(cut_to("aµb", 3), "aµ");
  EXPECT_EQ(cut_to("aµb", 9), "aµb");
}

TEST(EscapeMarkdown, LeavesOrdinaryNamesUnchanged) {
  for (const auto* text : kOrdinary) EXPECT_EQ(escape_markdown(text), text);
}

TEST(EscapeMarkdown, LeavesNoMarkup) {
  EXPECT_EQ(escape_markdown("<script>&lt;&#60; & "), "&lt;script>&amp;lt;&amp;#60; & ");
  EXPECT_EQ(escape_markdown("&LT;b>"), "&amp;LT;b>");
  EXPECT_EQ(escape_markdown("</b><!--<?x <"), "&lt;/b>&lt;!--&lt;?x &lt;");
  EXPECT_EQ(escape_markdown("a|b `c` *d* ~e~ _f_"), "a\\|b \\`c\\` \\*d\\* \\~e\\~ \\_f\\_");
  EXPECT_EQ(escape_markdown("a\\|b"), "a\\\\\\|b");
  EXPECT_EQ(escape_markdown("![x](javascript:y) [z][w]"), "![x\\](javascript:y) [z\\][w]");
  EXPECT_EQ(escape_markdown("[x]: y"), "[x\\]: y");
  EXPECT_EQ(escape_markdown("  [x]: y"), "  [x\\]: y");
  EXPECT_EQ(escape_markdown("[x]"), "[x\\]") << "a colon may follow";
}

TEST(EscapeMarkdown, BeginsNoBlock) {
  EXPECT_EQ(escape_markdown("# a"), "\\# a");
  EXPECT_EQ(escape_markdown("  ## a"), "  \\## a");
  EXPECT_EQ(escape_markdown("> a"), "\\> a");
  EXPECT_EQ(escape_markdown("- a"), "\\- a");
  EXPECT_EQ(escape_markdown("+ a"), "\\+ a");
  EXPECT_EQ(escape_markdown("12. a"), "12\\. a");
  EXPECT_EQ(escape_markdown("3) a"), "3\\) a");
  EXPECT_EQ(escape_markdown("##"), "\\##");
  EXPECT_EQ(escape_markdown("1."), "1\\.");
  EXPECT_EQ(escape_markdown("---"), "\\---");
  EXPECT_EQ(escape_markdown("==="), "\\===");
  EXPECT_EQ(escape_markdown("- - -"), "\\- - -");
  EXPECT_EQ(escape_markdown("#1 of 3.5"), "#1 of 3.5");
}

TEST(Markdown, EscapesValuesAndNotItsLiteralsNorItself) {
  const auto inner = Markdown::format("`{}`", 3);
  auto out = Markdown::format("- {}: {} {}\n", "a|b", inner, 1.5);
  out += std::string("\n<x>");
  EXPECT_EQ(out.text(), "- a\\|b: `3` 1.5\n &lt;x>");
}

TEST(Markdown, TablesEscapeEveryCell) {
  const MarkdownRow row{"x|y", std::string("a\nb")};
  EXPECT_EQ(markdown_table({{"h", "i"}, row}).text(), "| h    | i   |\n| ---- | --- |\n| x\\|y | a b |\n");
}

TEST(CsvField, IsNotAFormula) {
  EXPECT_EQ(csv_field("=cmd()"), "'=cmd()");
  EXPECT_EQ(csv_field("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(csv_field("+A1"), "'+A1");
  EXPECT_EQ(csv_field("\t-cmd,x"), "\"' -cmd,x\"");
  EXPECT_EQ(csv_field("model=a"), "model=a");
  for (const auto* amount : {"-3.2 %", "+1e-5", "-", "-12"}) EXPECT_EQ(csv_field(amount), amount);
}

TEST(CsvField, IsOneLineAndNoCommand) {
  EXPECT_EQ(csv_field("a\n::error::b"), "\"a ::error::b\"");
  EXPECT_EQ(csv_field("::error::b"), "\"::error::b\"");
  EXPECT_EQ(csv_field("a \"b\", c"), "\"a \"\"b\"\", c\"");
  EXPECT_EQ(csv_field("\"b\""), "\"\"\"b\"\"\"");
}

TEST(JsonText, IsTheSameDataInCharactersThatMayBeShown) {
  const std::string hostile = "\x1b[31m\x7f\xc2\x9b\u202e##[error] ::a\n\"µ";
  const auto text = json_text(nlohmann::ordered_json{{hostile, hostile}}, 2);
  EXPECT_EQ(nlohmann::json::parse(text)[hostile], hostile);
  EXPECT_EQ(shown_lines(text), text);
  EXPECT_THAT(text, HasSubstr("µ"));
  EXPECT_THAT(text, Not(HasSubstr("##[")));
}

}  // namespace
}  // namespace perfbench::reports
