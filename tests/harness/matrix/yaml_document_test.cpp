#include "harness/matrix/yaml_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

YamlDocument parse(const std::string& text) {
  return YamlDocument::parse(text, "matrix", "x.yaml");
}

// The message of the InputError that parsing must throw.
std::string mistake_in(const std::string& text) {
  try {
    parse(text);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

std::string at(const YamlDocument& document, std::string_view pointer) {
  const auto p = document.position(pointer);
  return std::to_string(p.line) + ":" + std::to_string(p.column);
}

TEST(YamlDocument, TypesPlainScalarsByTheCoreSchema) {
  const auto document = parse(
      "[12, -3, +4, 0, 1e-5, 1.5, .5, 2., -1E3, true, false, ~, null, 18446744073709551615, -9223372036854775808]");
  const auto want = Json::parse(
      "[12, -3, 4, 0, 1e-5, 1.5, 0.5, 2.0, -1000.0, true, false, null, null, 18446744073709551615, "
      "-9223372036854775808]");
  EXPECT_EQ(document.root(), want);
  EXPECT_TRUE(document.root()[0].is_number_integer());
  EXPECT_TRUE(document.root()[8].is_number_float());
}

TEST(YamlDocument, KeepsAsTextWhatOnlyOlderYamlWouldTurnIntoAValue) {
  const auto document =
      parse("[yes, on, No, True, FALSE, 010, 0x1F, 0o17, 1_000, 2024-01-31, 1e, e5, '.', +, -., 00.5]");
  for (const auto& item : document.root()) EXPECT_TRUE(item.is_string()) << item;
  EXPECT_EQ(document.root()[5], "010");
}

TEST(YamlDocument, KeepsQuotedScalarsAsText) {
  EXPECT_EQ(parse("['12', \"true\", '~', \"\"]").root(), Json::parse(R"(["12", "true", "~", ""])"));
}

TEST(YamlDocument, RefusesNumbersThatItCannotHold) {
  EXPECT_THAT(mistake_in("a: .nan"), HasSubstr("[matrix] x.yaml:1:4 .nan is not a finite number"));
  EXPECT_THAT(mistake_in("a: -.inf"), HasSubstr("not a finite number"));
  EXPECT_THAT(mistake_in("a: 1e999"), HasSubstr("x.yaml:1:4 the number 1e999"));
  EXPECT_THAT(mistake_in("a: 18446744073709551616"), HasSubstr("64 bits"));
}

TEST(YamlDocument, KnowsWhereEachEntryStandsAndTheOrderOfKeys) {
  const auto document = parse("zeta: 1\nalpha:\n  - x\n  -   y\nmesh:\n  ici: {fsdp: 2, dp: 4}\n");
  EXPECT_THAT(document.keys(""), ElementsAre("zeta", "alpha", "mesh"));
  EXPECT_THAT(document.keys("/mesh/ici"), ElementsAre("fsdp", "dp"));
  EXPECT_THAT(document.keys("/alpha"), IsEmpty());
  EXPECT_EQ(at(document, "/zeta"), "1:1");
  EXPECT_EQ(at(document, "/alpha/1"), "4:7");
  EXPECT_EQ(at(document, "/mesh/ici"), "6:3");
  EXPECT_EQ(at(document, "/mesh/ici/dp"), "6:18");
}

TEST(YamlDocument, GivesTheNearestParentOfAPointerThatTheFileLacks) {
  const auto document = parse("a:\n  b: 1\n");
  EXPECT_EQ(at(document, "/a/b/c/d"), "2:3");
  EXPECT_EQ(at(document, "/a/missing"), "1:1");
  EXPECT_EQ(at(document, "/other"), "1:1");
}

TEST(YamlDocument, EscapesKeysInPointers) {
  const auto document = parse("plain: 0\n'a/b~c': 1\n");
  EXPECT_EQ(at(document, "/a~1b~0c"), "2:1");
}

TEST(YamlDocument, GivesASpecErrorItsPlace) {
  const auto document = parse("name: t\ndefaults:\n  steps: ten\n");
  const spec::SpecError error("/steps", "'steps' is \"ten\", it must be a whole number");
  EXPECT_STREQ(document.error(error, "/defaults").what(),
               "[matrix] x.yaml:3:3 'steps' is \"ten\", it must be a whole number");
}

TEST(YamlDocument, RefusesAKeyThatAppearsTwice) {
  EXPECT_EQ(mistake_in("steps: 1\nseq_len: 2\nsteps: 3\n"),
            "[matrix] x.yaml:3:1 the key 'steps' appears a second time; the first one is in line 1");
  EXPECT_THAT(mistake_in("{a: 1, 'a': 2}"), HasSubstr("appears a second time"));
}

TEST(YamlDocument, RefusesAmbiguousSyntax) {
  EXPECT_THAT(mistake_in("base: &b {a: 1}\nx:\n  <<: *b\n"), HasSubstr("x.yaml:3:3 merge keys"));
  EXPECT_THAT(mistake_in("a: 1\n---\nb: 2\n"), HasSubstr("second document"));
  EXPECT_THAT(mistake_in("a: !!int 3\n"), HasSubstr("tags are not supported"));
  EXPECT_THAT(mistake_in("? [a, b]\n: 1\n"), HasSubstr("a key must be a word"));
  EXPECT_THAT(mistake_in("~: 1\n"), HasSubstr("a key is empty"));
  EXPECT_THAT(mistake_in("a: [1, 2\nb: 3\n"), HasSubstr("[matrix] x.yaml:"));
  EXPECT_THAT(mistake_in("a: \"\\0\"\n"), HasSubstr("NUL"));
  EXPECT_THAT(mistake_in("a: *nobody\n"), HasSubstr("not YAML"));
}

TEST(YamlDocument, RefusesBytesThatAreNotText) {
  EXPECT_THAT(mistake_in("a: 1\nb: \xff\n"), HasSubstr("x.yaml:2:4 the file is not UTF-8"));
  EXPECT_THAT(mistake_in("a: \xed\xa0\x80\n"), HasSubstr("UTF-8"));  // a surrogate
  EXPECT_THAT(mistake_in("a: \xc0\xaf\n"), HasSubstr("UTF-8"));      // overlong
  EXPECT_THAT(mistake_in(std::string("a: 1\nb\0: 2\n", 12)), HasSubstr("x.yaml:2:2 the file contains the control"));
  // yaml-cpp takes 0x04 for the end of the input and would silently drop the rest.
  EXPECT_THAT(mistake_in("a: 1\n\x04\nb: 2\n"), HasSubstr("control character 4"));
  EXPECT_EQ(parse("a: \xc3\xa9 \xf0\x9f\x99\x82\n").root()["a"], "\xc3\xa9 \xf0\x9f\x99\x82");
}

TEST(YamlDocument, ExpandsAliases) {
  const auto document = parse("a: &one [1, {b: 2}]\nc: *one\nd: [*one, 3]\n");
  EXPECT_EQ(document.root()["c"], Json::parse(R"([1, {"b": 2}])"));
  EXPECT_EQ(document.root()["d"], Json::parse(R"([[1, {"b": 2}], 3])"));
  EXPECT_EQ(at(document, "/c/1/b"), "2:1");
}

TEST(YamlDocument, RefusesAnAliasInsideItsOwnValue) {
  EXPECT_THAT(mistake_in("a: &a [1, *a]\n"), HasSubstr("inside the value that it names"));
}

TEST(YamlDocument, RefusesDeepNestingInsteadOfOverflowingTheStack) {
  constexpr std::size_t kDeep = 100'000;
  EXPECT_THAT(mistake_in("a: " + std::string(kDeep, '[') + std::string(kDeep, ']')),
              HasSubstr("nested deeper than 64"));
  // Not closed: yaml-cpp reads the brackets as the start of a key.
  EXPECT_THAT(mistake_in("a: " + std::string(kDeep, '[')), HasSubstr("[matrix] x.yaml:1:"));
  EXPECT_THAT(mistake_in("a: " + std::string(kDeep, '{')), HasSubstr("[matrix] x.yaml:1:"));
  std::string block;
  for (int i = 0; i < 2'000; ++i) block += "- ";
  EXPECT_THAT(mistake_in(block + "x"), HasSubstr("nested deeper than 64"));
  EXPECT_THAT(mistake_in("a: &a " + std::string(40, '[') + std::string(40, ']') + "\nb: " + std::string(40, '[') +
                         "*a" + std::string(40, ']') + "\n"),
              HasSubstr("nested deeper than 64"));
}

// Nine levels of nine aliases are 9^9 values.
TEST(YamlDocument, RefusesAnAliasBombBeforeItIsExpanded) {
  std::string bomb = "l0: &l0 [x, x, x, x, x, x, x, x, x]\n";
  for (int level = 1; level < 10; ++level) {
    const std::string below = "*l" + std::to_string(level - 1);
    bomb += "l" + std::to_string(level) + ": &l" + std::to_string(level) + " [" + below;
    for (int i = 1; i < 9; ++i) bomb += ", " + below;
    bomb += "]\n";
  }
  EXPECT_THAT(mistake_in(bomb), HasSubstr("more than 500000 values"));
}

TEST(YamlDocument, RefusesAHugeFile) {
  EXPECT_THAT(mistake_in(std::string((4U << 20U) + 1, ' ')), HasSubstr("bytes"));
}

TEST(YamlDocument, SaysWhyAFileCannotBeRead) {
  try {
    YamlDocument::load("/nowhere/x.yaml", "matrix");
    FAIL() << "no error";
  } catch (const InputError& e) {
    EXPECT_STREQ(e.what(), "[matrix] /nowhere/x.yaml: cannot be opened: No such file or directory");
  }
  EXPECT_THROW(YamlDocument::load("/tmp", "matrix"), InputError);
}

TEST(YamlDocument, TakesAnEmptyFileForNull) {
  EXPECT_TRUE(parse("").root().is_null());
  EXPECT_TRUE(parse("# only a comment\n").root().is_null());
}

// For any bytes, the result is a tree or an InputError that names the file.
TEST(YamlDocument, EndsInATreeOrAnInputErrorForMutatedFiles) {
  const std::string seed =
      "name: q\ndefaults: &d\n  model: llama-tiny\n  mesh: {ici: {fsdp: 2}}\n  steps: 1e1\naxes:\n"
      "  - attention: [flash, dot_product]\n  - {seq_len: [64, 128], x: *d}\nnotes: |\n  text: \"a\"\n";
  const std::string alphabet = "{}[]:,-?&*!|>'\"%@`#~ \n\tab01.\\";
  std::mt19937 random(7);
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < 4000; ++round) {
    std::string text = seed;
    for (std::size_t edits = 1 + below(6); edits > 0; --edits) {
      const std::size_t where = below(text.size());
      const std::size_t kind = below(3);
      if (kind == 0) text[where] = alphabet[below(alphabet.size())];
      if (kind == 1) text.insert(where, 1, alphabet[below(alphabet.size())]);
      if (kind == 2) text.erase(where, 1 + below(4));
      if (text.empty()) text = "a";
    }
    try {
      parse(text);
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr("[matrix] x.yaml:")) << text;
    }
  }
}

}  // namespace
}  // namespace perfbench::harness
