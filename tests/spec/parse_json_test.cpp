#include "workloads/spec/parse_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "workloads/spec/spec_error.h"

namespace perfbench::spec {
namespace {

using testing::HasSubstr;

std::string complaint_about(const std::string& text) {
  try {
    parse_json(text);
  } catch (const SpecError& e) {
    return e.what();
  }
  return "";
}

// The oracle is the library's own parser.
TEST(ParseJson, GivesTheLibrarysTree) {
  for (const auto* text :
       {"null", "true", "-1", "18446744073709551615", "2.5e-3", "\"\\u00e9\"", "[]", "{}", "[[], {}, [[1], 2], 3]",
        R"({"b": {"c": [1, {"d": null}], "e": {}}, "a": [{"b": 1}, {"b": 2}], "": false})", " [ -0.0 , 1E5 ] "}) {
    EXPECT_EQ(parse_json(text), Json::parse(text)) << text;
    EXPECT_EQ(parse_json(text).dump(), Json::parse(text).dump()) << text;
  }
}

TEST(ParseJson, RefusesTextBehindAValue) {
  EXPECT_THAT(complaint_about("{} {}"), HasSubstr("not JSON: parse error at line 1, column 4"));
  EXPECT_THAT(complaint_about("[1,"), HasSubstr("not JSON: parse error at line 1, column 4"));
}

// With time proportional to the square of their number, these would take minutes.
TEST(ParseJson, ReadsManyObjects) {
  std::string text = "[{}";
  constexpr int kObjects = 200'000;
  for (int i = 1; i < kObjects; ++i) text += ",{}";
  EXPECT_EQ(parse_json(text + "]").size(), static_cast<std::size_t>(kObjects));
}

TEST(ParseJson, RefusesTooManyValues) {
  std::string text = "[0";
  for (std::int64_t i = 0; i < kJsonMaxValues; ++i) text += ",0";
  EXPECT_THAT(complaint_about(text + "]"), HasSubstr("more than 2000000 values"));
}

}  // namespace
}  // namespace perfbench::spec
