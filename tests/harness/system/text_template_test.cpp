#include "harness/system/text_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/system/command_words.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {
namespace {

using ::testing::ElementsAre;

std::optional<std::string> value(const std::string& name) {
  if (name == "steps") return "40";
  if (name == "odd") return "a{b}";
  return std::nullopt;
}

TEST(TextTemplate, FillsNamesAndMakesDoubledBracesSingle) {
  EXPECT_EQ(fill_all("--steps={steps} {{x}}", value), "--steps=40 {x}");
  EXPECT_EQ(fill_all(R"({{"a": {steps}}})", value), R"({"a": 40})");
}

TEST(TextTemplate, StaysATemplateWhereNamesAreLeftForLater) {
  const auto half = fill_known("{run_dir}/{odd} {{x}}", value);
  EXPECT_EQ(half, "{run_dir}/a{{b}} {{x}}");
  EXPECT_EQ(fill_all(half, [](const std::string&) { return "D"; }), "D/a{b} {x}");
}

TEST(TextTemplate, NamesASingleBraceAndANameWithoutAValue) {
  EXPECT_THROW(fill_all("{", value), TemplateError);
  EXPECT_THROW(fill_all("a}", value), TemplateError);
  EXPECT_THROW(fill_all("{}", value), TemplateError);
  EXPECT_THROW(fill_all("{a b}", value), TemplateError);
  EXPECT_THROW(fill_all("{unknown}", value), TemplateError);
  EXPECT_THAT(template_names("{a} {{b}} {c.d}{a}"), ElementsAre("a", "c.d", "a"));
}

TEST(TextTemplate, EscapedTextMeansItself) {
  for (const auto* text : {"", "{", "{{a}}", "a{b}c", R"({"k": {}})"}) {
    EXPECT_EQ(fill_all(escape_template(text), value), text);
  }
}

TEST(CommandWords, SplitsAtBlanksThatNoQuotesHold) {
  EXPECT_THAT(command_words("  python3 'a b'  --x=\"c 'd'\" e\\ f ''"),
              ElementsAre("python3", "a b", "--x=c 'd'", "e f", ""));
  EXPECT_THAT(command_words("echo $HOME *.py | cat"), ElementsAre("echo", "$HOME", "*.py", "|", "cat"));
  EXPECT_THAT(command_words(" \t"), ElementsAre());
  EXPECT_THROW(command_words("echo 'a"), InputError);
}

}  // namespace
}  // namespace perfbench::harness
