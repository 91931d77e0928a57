// The field list of a struct: reading, its errors, writing.
#include "workloads/spec/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "workloads/spec/fields_json.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::spec {

enum class Colour { red, dark_blue };
template <>
struct EnumNames<Colour> {
  static constexpr std::array kNames{std::pair{Colour::red, "red"}, std::pair{Colour::dark_blue, "dark_blue"}};
};

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Inner {
  std::int64_t size = 1;
  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"size", "a size", 1, 10}, self.size);
  }
};

struct Sample {
  std::string name;
  std::int64_t count = 3;
  double rate = 0.5;
  double loss = 0;
  bool on = false;
  Colour colour = Colour::red;
  Inner inner;
  std::vector<Inner> list;
  std::map<std::string, double> rates;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{.name = "name", .help = "its name", .presence = Presence::required}, self.name);
    f(Field{"count", "how many", 0, 100}, self.count);
    f(Field{"rate", "a part", 0.0, 1.0}, self.rate);
    f(Field{"loss", "any number"}, self.loss);
    f(Field{"on", "a switch"}, self.on);
    f(Field{"colour", "red or dark_blue"}, self.colour);
    f(Field{"inner", "a part"}, self.inner);
    f(Field{"list", "parts"}, self.list);
    f(Field{"rates", "by name"}, self.rates);
  }
};

Sample read(const std::string& text, Missing missing = Missing::takes_default) {
  return fields_from_json<Sample>(Json::parse(text), missing);
}

// "pointer: message" of the SpecError with which reading ends.
std::string mistake_of_fields(const std::string& text, Missing missing = Missing::takes_default) {
  try {
    read(text, missing);
  } catch (const SpecError& e) {
    return e.pointer() + ": " + e.what();
  }
  return "no error";
}

TEST(Fields, AnAbsentKeyTakesItsDefault) {
  const auto sample = read(R"({"name": "a", "inner": {}})");
  EXPECT_EQ(sample.count, 3);
  EXPECT_EQ(sample.colour, Colour::red);
  EXPECT_EQ(sample.inner.size, 1);
}

TEST(Fields, AreReadBackAsWritten) {
  Sample sample;
  sample.name = "quote \" and \xc3\xa9";
  sample.count = 42;
  sample.rate = 0.1;
  sample.loss = -1e300;
  sample.on = true;
  sample.colour = Colour::dark_blue;
  sample.inner.size = 7;
  sample.list = {Inner{2}, Inner{3}};
  sample.rates = {{"a/b", 1.5}, {"", 0.0}};
  const auto text = fields_to_json(sample).dump();
  EXPECT_EQ(fields_to_json(read(text, Missing::is_error)).dump(), text);
}

TEST(Fields, NamesFollowTheDeclaration) {
  EXPECT_THAT(field_names<Sample>(),
              ElementsAre("name", "count", "rate", "loss", "on", "colour", "inner", "list", "rates"));
}

TEST(Fields, ARequiredKeyMayNotBeAbsent) {
  EXPECT_EQ(mistake_of_fields("{}"), ": the key 'name' (its name) is missing");
}

TEST(Fields, AWholeFileMayLackNothing) {
  EXPECT_THAT(mistake_of_fields(R"({"name": "a"})", Missing::is_error),
              HasSubstr("the key 'count' (how many) is missing"));
}

TEST(Fields, AnUnknownKeyIsAnErrorWithASuggestion) {
  EXPECT_EQ(mistake_of_fields(R"({"name": "a", "coutn": 1})"), "/coutn: unknown key 'coutn' (did you mean 'count'?)");
  EXPECT_EQ(mistake_of_fields(R"({"name": "a", "list": [{}, {"siez": 1}]})"),
            "/list/1/siez: unknown key 'siez' (did you mean 'size'?)");
  EXPECT_EQ(mistake_of_fields(R"({"name": "a", "a/b~": 1})").substr(0, 8), "/a~1b~0:");
}

TEST(Fields, AWrongTypeNamesTheValueAndTheExpectedType) {
  EXPECT_EQ(mistake_of_fields(R"({"name": 7})"), "/name: 'name' is 7, it must be text");
  EXPECT_EQ(mistake_of_fields(R"({"name": "a", "count": "ten"})"),
            "/count: 'count' is \"ten\", it must be a whole number");
  EXPECT_THAT(mistake_of_fields(R"({"name": "a", "count": 1.5})"), HasSubstr("a whole number"));
  EXPECT_THAT(mistake_of_fields(R"({"name": "a", "on": 1})"), HasSubstr("true or false"));
  EXPECT_THAT(mistake_of_fields(R"({"name": "a", "rate": "x"})"), HasSubstr("a number"));
  EXPECT_THAT(mistake_of_fields(R"({"name": "a", "inner": 3})"), HasSubstr("where a mapping of keys is needed"));
  EXPECT_THAT(mistake_of_fields(R"({"name": "a", "list": {}})"), HasSubstr("a list"));
  EXPECT_THAT(mistake_of_fields(R"({"name": "a", "rates": []})"), HasSubstr("a mapping"));
  EXPECT_THAT(mistake_of_fields("[]"), HasSubstr("where a mapping of keys is needed"));
}

TEST(Fields, ANumberOutOfRangeNamesTheRange) {
  EXPECT_THAT(mistake_of_fields(R"({"name": "a", "count": -1})"), HasSubstr("/count: 'count' is -1"));
  EXPECT_THAT(mistake_of_fields(R"({"name": "a", "count": 101})"), HasSubstr("at most 100"));
  EXPECT_THAT(mistake_of_fields(R"({"name": "a", "inner": {"size": 11}})"), HasSubstr("/inner/size"));
  EXPECT_THAT(mistake_of_fields(R"({"name": "a", "count": 18446744073709551615})"), HasSubstr("below 2^63"));
  EXPECT_THAT(mistake_of_fields(R"({"name": "a", "rate": 1.01})"), HasSubstr("/rate"));
}

TEST(Fields, AnUnknownWordOfAnEnumerationListsTheWords) {
  EXPECT_EQ(mistake_of_fields(R"({"name": "a", "colour": "rde"})"),
            "/colour: 'colour' is 'rde', which is not one of its values (did you mean 'red'?)");
  EXPECT_THAT(mistake_of_fields(R"({"name": "a", "colour": "mauve"})"), HasSubstr("one of: red, dark_blue"));
}

TEST(Fields, ALossThatDivergedSurvivesAndNaNAndTheInfinitiesStayApart) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto again = [](double loss) {
    Sample sample;
    sample.name = "a";
    sample.loss = loss;
    return read(fields_to_json(sample).dump()).loss;
  };
  EXPECT_TRUE(std::isnan(again(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_EQ(again(kInfinity), kInfinity);
  EXPECT_EQ(again(-kInfinity), -kInfinity);
  EXPECT_TRUE(std::isnan(read(R"({"name": "a", "loss": null})").loss)) << "as older engines wrote either";
}

TEST(Fields, OnlyANumberWithoutBoundsMayBeNotFinite) {
  for (const auto* written : {"null", "\"NaN\"", "\"Infinity\""}) {
    EXPECT_THAT(mistake_of_fields(std::string(R"({"name": "a", "rate": )") + written + "}"), HasSubstr("a number"))
        << written;
  }
  EXPECT_THAT(mistake_of_fields(R"({"name": "a", "loss": "infinity"})"), HasSubstr("a number"));
}

// A format as first written, and after two fields and a group were added.
struct Engine {
  std::int64_t cylinders = 4;
  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"cylinders", "how many", 1, 16}, self.cylinders);
  }
};
struct Turbo {
  std::int64_t stages = 0;
  double pressure_bar = 0.0;
  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"stages", "of compression", 0, 3}, self.stages);
    f(Field{"pressure_bar", "above the air's"}.omitted_at_default(), self.pressure_bar);
  }
};
struct NewEngine {
  std::int64_t cylinders = 4;
  double litres = 1.6;
  std::string fuel = "petrol";
  Turbo turbo;
  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"cylinders", "how many", 1, 16}, self.cylinders);
    f(Field{"litres", "swept volume", 0.1, 30.0}.omitted_at_default(), self.litres);
    f(Field{"fuel", "what it burns"}.omitted_at_default(), self.fuel);
    f(Field{"turbo", "the charger"}.omitted_at_default(), self.turbo);
  }
};
struct Car {
  NewEngine engine{6, 3.0, "diesel", {}};  // other defaults than the part has by itself
  std::vector<NewEngine> spares;
  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"engine", "the engine"}, self.engine);
    f(Field{"spares", "more of them"}, self.spares);
  }
};

template <class T>
std::string rewritten(const std::string& text) {
  return fields_to_json(fields_from_json<T>(Json::parse(text), Missing::is_error)).dump();
}

TEST(AddedField, LeavesOlderFilesReadableAndTheirBytesUnchanged) {
  const auto before = fields_to_json(Engine{8}).dump();
  const auto read_now = fields_from_json<NewEngine>(Json::parse(before), Missing::is_error);
  EXPECT_EQ(read_now.cylinders, 8);
  EXPECT_EQ(read_now.litres, 1.6);
  EXPECT_EQ(read_now.fuel, "petrol");
  EXPECT_EQ(read_now.turbo.stages, 0);
  EXPECT_EQ(fields_to_json(read_now).dump(), before);
}

TEST(AddedField, IsWrittenUnlessItIsAtItsDefault) {
  NewEngine engine;
  engine.fuel = "diesel";
  engine.turbo.stages = 2;
  const auto text = fields_to_json(engine).dump();
  EXPECT_EQ(text, R"({"cylinders":4,"fuel":"diesel","turbo":{"stages":2}})");
  EXPECT_EQ(rewritten<NewEngine>(text), text);
  engine.turbo.pressure_bar = -0.0;  // other bytes than 0.0, so another value
  EXPECT_EQ(rewritten<NewEngine>(fields_to_json(engine).dump()),
            R"({"cylinders":4,"fuel":"diesel","turbo":{"pressure_bar":-0.0,"stages":2}})");
}

TEST(AddedField, AtItsDefaultEqualsAnAbsentKey) {
  EXPECT_EQ(rewritten<NewEngine>(R"({"cylinders":4,"litres":1.6,"turbo":{"stages":0}})"), R"({"cylinders":4})");
}

TEST(AddedField, IsWrittenWhenTheWholeIsWanted) {
  EXPECT_EQ(fields_to_json(NewEngine{}, Written::whole).dump(),
            R"({"cylinders":4,"fuel":"petrol","litres":1.6,"turbo":{"pressure_bar":0.0,"stages":0}})");
}

TEST(AddedField, IsCheckedAndOtherFieldsMayNotBeAbsent) {
  const auto mistake = [](const std::string& text) -> std::string {
    try {
      return rewritten<NewEngine>(text);
    } catch (const SpecError& e) {
      return e.pointer() + ": " + e.what();
    }
  };
  EXPECT_EQ(mistake(R"({"litres":2.0})"), ": the key 'cylinders' (how many) is missing");
  EXPECT_EQ(mistake(R"({"cylinders":4,"turbo":{}})"), "/turbo: the key 'stages' (of compression) is missing");
  EXPECT_EQ(mistake(R"({"cylinders":4,"feul":"gas"})"), "/feul: unknown key 'feul' (did you mean 'fuel'?)");
  EXPECT_THAT(mistake(R"({"cylinders":4,"litres":99})"), HasSubstr("/litres: 'litres' is 99"));
}

// Otherwise a change of the outer struct's default would change the meaning of old files.
TEST(AddedField, HasTheDefaultOfItsStructWhereverThatIsUsed) {
  Car car;
  car.spares.resize(2);
  car.spares[1].litres = 2.5;
  const auto text = fields_to_json(car).dump();
  EXPECT_EQ(text, R"({"engine":{"cylinders":6,"fuel":"diesel","litres":3.0},)"
                  R"("spares":[{"cylinders":4},{"cylinders":4,"litres":2.5}]})");
  EXPECT_EQ(rewritten<Car>(text), text);
  car.engine = NewEngine{};
  EXPECT_EQ(rewritten<Car>(fields_to_json(car).dump()), fields_to_json(car).dump());
  const auto read_now = fields_from_json<Car>(Json::parse(R"({"engine":{"cylinders":6}})"), Missing::takes_default);
  EXPECT_EQ(read_now.engine.fuel, "petrol");
}

TEST(Suggestion, IsGivenForAMisspeltWordOnly) {
  const std::vector<std::string> words{"seq_len", "steps", "global_batch"};
  EXPECT_EQ(suggestion("seqlen", words), " (did you mean 'seq_len'?)");
  EXPECT_EQ(suggestion("globla_batch", words), " (did you mean 'global_batch'?)");
  EXPECT_EQ(suggestion("optimizer", words), " (one of: seq_len, steps, global_batch)");
}

TEST(Suggestion, OrdersAListByHowNearEachIs) {
  const std::vector<std::string> words{"global_batch", "seq_len", "steps", "step"};
  EXPECT_EQ(nearest_first("step", words), (std::vector<std::string>{"step", "steps", "seq_len", "global_batch"}));
  EXPECT_EQ(nearest_first(std::string(1000, 'x'), words), words);
}

// Added containers are compared with their default entry by entry.
struct Crate {
  std::vector<std::int64_t> weights{1, 2};
  std::map<std::string, double> prices{{"apple", 0.0}};
  std::optional<std::string> label = "fresh";

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"weights", "of each, kg"}.omitted_at_default(), self.weights);
    f(Field{"prices", "by fruit"}.omitted_at_default(), self.prices);
    f(Field{"label", "what it says"}.omitted_at_default(), self.label);
  }
};

TEST(AddedField, AContainerIsOmittedOnlyIfEveryEntryIsAtItsDefault) {
  EXPECT_EQ(fields_to_json(Crate{}).dump(), "{}");
  const auto read_now = fields_from_json<Crate>(Json::object(), Missing::is_error);
  EXPECT_EQ(read_now.weights, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(read_now.label, "fresh");
  const Crate other{.weights = {1, 2, 3}, .prices = {{"apple", -0.0}}, .label = std::nullopt};
  const auto text = fields_to_json(other).dump();
  EXPECT_EQ(text, R"({"label":null,"prices":{"apple":-0.0},"weights":[1,2,3]})");
  EXPECT_EQ(rewritten<Crate>(text), text);
  EXPECT_EQ(fields_to_json(Crate{.weights = {2, 1}}).dump(), R"({"weights":[2,1]})");
  EXPECT_EQ(fields_to_json(Crate{.prices = {{"pear", 0.0}}}).dump(), R"({"prices":{"pear":0.0}})");
}

TEST(Fields, OutOfRangeErrorsUseTheTypeOfTheField) {
  EXPECT_EQ(mistake_of_fields(R"({"name": "a", "count": 101})"),
            "/count: 'count' is 101, it must be at least 0 and at most 100");
  EXPECT_EQ(mistake_of_fields(R"({"name": "a", "rate": 1.5})"),
            "/rate: 'rate' is 1.5, it must be at least 0.0 and at most 1.0");
  EXPECT_EQ(mistake_of_fields(R"({"name": "a", "rate": 2})"),
            "/rate: 'rate' is 2, it must be at least 0.0 and at most 1.0");
}

// "pointer: message" of the SpecError with which reading one member ends.
std::string mistake_of_member(const std::string& name, const std::string& json) {
  Sample sample;
  try {
    read_field(field_table<Sample>(), &sample, name, parse_json(json));
  } catch (const SpecError& e) {
    return e.pointer() + ": " + e.what();
  }
  return "no error";
}

TEST(Fields, AreReadOneByOne) {
  Sample sample{.name = "a"};
  read_field(field_table<Sample>(), &sample, "inner.size", Json(7));
  read_field(field_table<Sample>(), &sample, "rates.fast", Json(2.5));
  EXPECT_EQ(sample.inner.size, 7);
  EXPECT_EQ(sample.rates.at("fast"), 2.5);
  EXPECT_EQ(sample.name, "a");
  EXPECT_EQ(mistake_of_member("inner.size", "11"), "/inner/size: 'size' is 11, it must be at least 1 and at most 10");
  EXPECT_EQ(mistake_of_member("inner.sise", "1"), "/inner/sise: unknown key 'sise' (did you mean 'size'?)");
  EXPECT_EQ(mistake_of_member("count.x", "1"), "/count.x: unknown key 'count.x' (did you mean 'count'?)");
}

TEST(FieldTable, RefusesTwoFieldsOfOneName) {
  FieldTable table;
  for (int i = 0; i < 2; ++i) table.fields.push_back({Field{"size", "twice"}, 0, &member_type<std::int64_t>()});
  EXPECT_THROW(finish_table(table), std::logic_error);
}

struct Limit {
  std::optional<double> ratio;
  std::optional<Colour> colour;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"ratio", "at least 0", 0.0}, self.ratio);
    f(Field{"colour", "red or dark_blue"}, self.colour);
  }
};

TEST(Fields, OptionalOnesWithoutValueAreNull) {
  EXPECT_EQ(json_line(fields_to_json(Limit{})), R"({"colour":null,"ratio":null})");
  const auto one = fields_from_json<Limit>(parse_json(R"({"colour":"dark_blue","ratio":1.5})"), Missing::is_error);
  EXPECT_EQ(one.colour, Colour::dark_blue);
  EXPECT_EQ(one.ratio, 1.5);
  EXPECT_FALSE(fields_from_json<Limit>(parse_json(json_line(fields_to_json(Limit{}))), Missing::is_error).ratio);
  for (const auto* wrong : {R"({"colour":null,"ratio":-1})", R"({"colour":"green","ratio":null})", R"({"ratio":1})"}) {
    EXPECT_THROW(fields_from_json<Limit>(parse_json(wrong), Missing::is_error), SpecError) << wrong;
  }
}

}  // namespace
}  // namespace perfbench::spec
