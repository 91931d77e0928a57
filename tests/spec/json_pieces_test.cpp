#include "workloads/spec/json_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace perfbench::spec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// "PATTERN path value" for each piece.
std::vector<std::string> pieces(std::string_view text, const std::vector<std::string>& patterns,
                                std::size_t chunk = std::string_view::npos) {
  std::vector<std::string> out;
  const ByteReader bytes = [rest = text, chunk](char* data, std::size_t size) mutable {
    const auto count = rest.copy(data, std::min(size, chunk));
    rest.remove_prefix(count);
    return count;
  };
  read_json_pieces(bytes, patterns, [&out](const JsonPiece& piece) {
    std::string line = std::to_string(piece.pattern);
    for (const auto& name : piece.names) line += "/" + name;
    out.push_back(line + " " + piece.value.dump());
  });
  return out;
}

std::string complaint(const std::string& text, const std::vector<std::string>& patterns) {
  try {
    pieces(text, patterns);
  } catch (const PieceError& e) {
    return std::to_string(e.line()) + ": " + e.text();
  }
  return "no error";
}

constexpr std::string_view kDocument = R"({"context": {"a": [1, 2]}, "skipped": [{"rows": [9]}],
  "rows": [1, "x", [2, {"deep": null}], {"rows": 3}], "last": true})";

TEST(JsonPieces, PassesOnWhatAPatternNames) {
  for (const std::size_t chunk : {1U, 7U, 1000U}) {
    EXPECT_THAT(pieces(kDocument, {"/rows/*", "/context/a", "/last"}, chunk),
                ElementsAre("1/context/a [1,2]", "0/rows/0 1", "0/rows/1 \"x\"", "0/rows/2 [2,{\"deep\":null}]",
                            "0/rows/3 {\"rows\":3}", "2/last true"))
        << chunk;
  }
}

TEST(JsonPieces, NamesKeysAndIndicesOfNestedPieces) {
  EXPECT_THAT(pieces(R"({"b": [{"states": [1, 2]}, {"name": "x", "states": [3]}]})", {"/b/*/states/*", "/b/*/name"}),
              ElementsAre("0/b/0/states/0 1", "0/b/0/states/1 2", "1/b/1/name \"x\"", "0/b/1/states/0 3"));
}

// Words inside of strings stay, and so do those that only begin like one.
TEST(JsonPieces, MakesTextOfNumbersThatJsonHasNot) {
  constexpr std::string_view kWords = R"({"a": [NaN, Infinity, -Infinity, -1, "NaN \" Infinity", "\\"], "b": NaN})";
  for (const std::size_t chunk : {1U, 2U, 3U, 1000U}) {
    EXPECT_THAT(pieces(kWords, {"/*"}, chunk),
                ElementsAre(R"(0/a ["NaN","Infinity","-Infinity",-1,"NaN \" Infinity","\\"])", R"(0/b "NaN")"))
        << chunk;
  }
  EXPECT_THAT(complaint("{\"a\": Nan}", {"/a"}), HasSubstr("not JSON"));
}

// A word may stand at any place of the buffer, and nothing behind it may be lost.
TEST(JsonPieces, FindsAWordAtTheEndOfABuffer) {
  constexpr std::size_t kBuffer = std::size_t{256} << 10;
  for (std::size_t before = kBuffer - 24; before < kBuffer + 4; ++before) {
    const auto text = "[" + std::string(before, ' ') + "-Infinity]";
    ASSERT_THAT(pieces(text, {"/*"}), ElementsAre("0/0 \"-Infinity\"")) << before;
  }
}

TEST(JsonPieces, SaysWhereAMistakeIs) {
  EXPECT_THAT(complaint("{\"a\": 1,\n\"b\" 2}", {"/a"}), HasSubstr("2: not JSON"));
  EXPECT_THAT(complaint("", {"/a"}), HasSubstr("1: not JSON"));
  EXPECT_THAT(complaint("[1] 2", {"/*"}), HasSubstr("not JSON"));
  EXPECT_EQ(complaint("{\"rows\": [1,\n {\"x\": 1, \"x\": 2}]}", {"/rows/*"}),
            "2: at /rows/1: the key 'x' is given twice in one object");
  const auto deep = std::string(70, '[') + std::string(70, ']');
  EXPECT_THAT(complaint(deep, {"/none"}), HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(complaint("[" + deep + "]", {"/*"}), HasSubstr("nested deeper than 64 levels"));
}

TEST(JsonPieces, AddsThePlaceToAMistakeInsideAPiece) {
  try {
    read_json_pieces(bytes_of("[0,\n 1]"), {"/*"}, [](const JsonPiece& piece) {
      if (piece.value == 1) throw SpecError("/unit", "it is unknown");
    });
    FAIL() << "no error";
  } catch (const PieceError& e) {
    EXPECT_EQ(e.line(), 2);
    EXPECT_EQ(e.text(), "at /1/unit: it is unknown");
  }
}

}  // namespace
}  // namespace perfbench::spec
