#include "workloads/spec/step_line.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/spec/step_record.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::spec {
namespace {

// Every field gets a different value, so that a swap of two is noticed.
StepRecord random_record(std::mt19937_64& engine) {
  StepRecord record;
  std::uniform_int_distribution<std::int64_t> whole(0, std::int64_t{1} << 40);
  std::normal_distribution<double> real(0.0, 1e3);
  for (auto* field : {&record.rank,
                      &record.step,
                      &record.wall_ns,
                      &record.data_ns,
                      &record.forward_ns,
                      &record.backward_ns,
                      &record.exposed_comm_ns,
                      &record.bubble_ns,
                      &record.dropped_choices,
                      &record.loss_tokens,
                      &record.padding_tokens,
                      &record.optimizer_ns,
                      &record.other_ns,
                      &record.tokens,
                      &record.probe_ns,
                      &record.peak.weights_bytes,
                      &record.peak.gradients_bytes,
                      &record.peak.optimizer_bytes,
                      &record.peak.activations_bytes,
                      &record.peak.gathered_bytes,
                      &record.peak.workspace_bytes,
                      &record.peak.host_bytes,
                      &record.peak.total_bytes}) {
    *field = whole(engine);
  }
  record.traced = whole(engine) % 2;
  record.loss = real(engine);
  record.grad_norm = real(engine);
  record.balance_loss = real(engine);
  record.expert_load = real(engine);
  record.learning_rate = real(engine) * 1e-9;
  return record;
}

TEST(StepLineReader, AgreesWithTheGeneralParserOnAThousandLines) {
  std::mt19937_64 engine(11);
  StepLineReader reader;
  for (int i = 0; i < 1000; ++i) {
    const auto line = to_json_line(random_record(engine));
    EXPECT_EQ(to_json_line(reader.read(line)), line);
    EXPECT_EQ(to_json_line(parse_step_record(line)), line);
  }
}

TEST(StepLineReader, ReadsALineInAnyOtherOrderAndSpacing) {
  std::mt19937_64 engine(12);
  const auto record = random_record(engine);
  auto line = to_json_line(record);
  line.insert(1, "  \"step\" : " + std::to_string(record.step) + " ,\t");
  const auto again = line.find("\"step\":");
  line.erase(again, line.find(',', again) + 1 - again);
  StepLineReader reader;
  EXPECT_EQ(to_json_line(reader.read(line)), to_json_line(record));
}

TEST(StepLineReader, TakesALossThatIsNotANumber) {
  StepRecord record;
  record.loss = std::numeric_limits<double>::quiet_NaN();
  StepLineReader reader;
  EXPECT_TRUE(std::isnan(reader.read(to_json_line(record)).loss));
  record.loss = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(reader.read(to_json_line(record)).loss, record.loss);
}

// std::from_chars would accept these as numbers.
TEST(StepLineReader, RefusesNumbersOfCThatAreNotJson) {
  const auto good = to_json_line(StepRecord{});
  const std::string key = "\"loss\":";
  const auto at = good.find(key) + key.size();
  for (const auto* word : {"inf", "-infinity", "nan"}) {
    auto line = good;
    line.replace(at, line.find(',', at) - at, word);
    EXPECT_THROW(StepLineReader().read(line), SpecError) << word;
  }
}

// A record to which two fields were added.
struct Lap {
  std::int64_t number = 0;
  double seconds = 0;
  std::int64_t pit_stops = 0;
  double fuel_kg = -1;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"number", "counted from 0", 0}, self.number);
    f(Field{"seconds", "how long"}, self.seconds);
    f(Field{"pit_stops", "how many", 0}.omitted_at_default(), self.pit_stops);
    f(Field{"fuel_kg", "left"}.omitted_at_default(), self.fuel_kg);
  }
};

TEST(StepLineReader, TakesLinesFromBeforeAFieldWasAddedAmongLinesThatHaveIt) {
  RecordLineReader<Lap> reader;
  for (const char* line : {R"({"number":1,"seconds":2.5})", R"({"fuel_kg":7.5,"number":2,"pit_stops":3,"seconds":2.5})",
                           R"({"number":3,"seconds":4.5})", R"({"number":4,"pit_stops":1,"seconds":4.5})",
                           R"({"fuel_kg":0.5,"number":5,"seconds":4.5})", R"({"number":6,"seconds":0.5})"}) {
    EXPECT_EQ(fields_to_json(reader.read(line)).dump(), line);
  }
  EXPECT_THROW(reader.read(R"({"fuel_kg":7.5,"number":2,"pit_stops":3})"), SpecError);
}

TEST(LineLayout, TakesLinesOfItsOwnKeysOnly) {
  std::int64_t number = 0;
  const LineLayout layout({{{"number"}, Field{"number", "", 0}, &number}}, R"({"number":0})");
  EXPECT_TRUE(layout.read(R"({"number":17})"));
  EXPECT_EQ(number, 17);
  EXPECT_FALSE(layout.read(R"({"number":17,"pit_stops":1})"));
  EXPECT_FALSE(layout.read(R"({"number":-1})"));
  EXPECT_THROW(LineLayout({}, R"({"number":0})"), std::logic_error);
}

TEST(StepLineReader, RefusesTheSameLinesAsTheGeneralParser) {
  const auto line = to_json_line(StepRecord{});
  auto negative = line;
  negative.replace(negative.find("\"wall_ns\":0"), 11, "\"wall_ns\":-5");
  auto version = line;
  version.replace(version.find("\"version\":1"), 11, "\"version\":2");
  auto fraction = line;
  fraction.replace(fraction.find("\"tokens\":0"), 10, "\"tokens\":0.5");
  StepLineReader reader;
  for (const auto& bad : {negative, version, fraction, line + "}", line.substr(0, line.size() - 1), std::string()}) {
    EXPECT_THROW(reader.read(bad), SpecError) << bad;
  }
}

}  // namespace
}  // namespace perfbench::spec
