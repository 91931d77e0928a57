// A field list as a JSON Schema, compared with the text here; tests/harness compares the files' schemas with their
// readers.
#include "workloads/spec/json_schema.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace perfbench::spec {

enum class Shade { light, dark };
template <>
struct EnumNames<Shade> {
  static constexpr std::array kNames{std::pair{Shade::light, "light"}, std::pair{Shade::dark, "dark"}};
};

namespace {

struct Leg {
  std::int64_t length_mm = 700;
  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"length_mm", "its length", 1, 900}, self.length_mm);
  }
};

struct Table {
  std::string name;
  std::int64_t seats = 0;
  double slope = 0;
  double loss = 0;
  double weight_kg = 0;
  bool folds = true;
  Shade shade = Shade::light;
  Leg leg;
  std::vector<Leg> more_legs;
  std::map<std::string, std::int64_t> screws;
  std::optional<double> varnish;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{.name = "name", .help = "its name", .presence = Presence::required}, self.name);
    f(Field{"seats", "how many"}, self.seats);
    f(Field{"slope", "of the top", 0.0, 0.5}, self.slope);
    f(Field{"loss", "any number"}, self.loss);
    f(Field{"weight_kg", "how heavy", 0.0}, self.weight_kg);
    f(Field{"folds", "whether"}.omitted_at_default(), self.folds);
    f(Field{"shade", "of the wood"}.omitted_at_default(), self.shade);
    f(Field{"leg", "the first"}.omitted_at_default(), self.leg);
    f(Field{"more_legs", "the others"}, self.more_legs);
    f(Field{"screws", "by size", 0, 99}, self.screws);
    f(Field{"varnish", "layers of it; null: unknown", 0.0}, self.varnish);
  }
};

Json property(const std::string& name) {
  auto schema = fields_schema<Table>().at("properties").at(name);
  schema.erase("description");
  return schema;
}

TEST(JsonSchema, HasEveryFieldWithItsHelpAndRefusesOtherKeys) {
  const auto schema = fields_schema<Table>();
  EXPECT_EQ(schema.at("type"), "object");
  EXPECT_EQ(schema.at("additionalProperties"), false);
  EXPECT_EQ(schema.at("properties").size(), field_names<Table>().size());
  EXPECT_EQ(schema.at("properties").at("seats").at("description"), "how many");
  EXPECT_EQ(schema.at("properties").at("leg").at("description"), "the first");
}

TEST(JsonSchema, RequiresFieldsWithoutDefaultAndStatesTheOtherDefaults) {
  const auto schema = fields_schema<Table>();
  EXPECT_EQ(schema.at("required"),
            Json({"name", "seats", "slope", "loss", "weight_kg", "more_legs", "screws", "varnish"}));
  EXPECT_EQ(property("folds"), Json({{"type", "boolean"}, {"default", true}}));
  EXPECT_EQ(property("leg").at("default"), Json({{"length_mm", 700}}));
  EXPECT_FALSE(property("seats").contains("default"));
}

TEST(JsonSchema, NumbersHaveTheBoundsOfTheirFields) {
  EXPECT_EQ(property("slope"), Json({{"type", "number"}, {"minimum", 0.0}, {"maximum", 0.5}}));
  EXPECT_EQ(property("weight_kg"), Json({{"type", "number"}, {"minimum", 0.0}}));
  EXPECT_EQ(property("seats"), Json({{"type", "integer"}, {"minimum", INT64_MIN}, {"maximum", INT64_MAX}}));
  const Json leg{{"type", "integer"}, {"minimum", 1}, {"maximum", 900}, {"description", "its length"}};
  EXPECT_EQ(property("leg").at("properties").at("length_mm"), leg);
}

TEST(JsonSchema, NumbersThatMayDivergeAcceptTheWords) {
  const Json words{{"enum", {nullptr, "NaN", "Infinity", "-Infinity"}}};
  EXPECT_EQ(property("loss").at("anyOf"), Json::array({{{"type", "number"}}, words}));
}

TEST(JsonSchema, AnEnumerationIsItsNames) {
  EXPECT_EQ(property("shade"), Json({{"enum", {"light", "dark"}}, {"default", "light"}}));
}

TEST(JsonSchema, DescribesEntriesOfListsAndMappingsLikeMembers) {
  EXPECT_EQ(property("name"), Json({{"type", "string"}}));
  EXPECT_EQ(property("more_legs"), Json({{"type", "array"}, {"items", fields_schema<Leg>()}}));
  const Json entry{{"type", "integer"}, {"minimum", 0}, {"maximum", 99}};
  EXPECT_EQ(property("screws"), Json({{"type", "object"}, {"additionalProperties", entry}}));
}

TEST(JsonSchema, AnOptionalValueMayBeNull) {
  const Json value{{"type", "number"}, {"minimum", 0.0}};
  EXPECT_EQ(property("varnish"), Json({{"anyOf", Json::array({value, {{"type", "null"}}})}}));
}

}  // namespace
}  // namespace perfbench::spec
