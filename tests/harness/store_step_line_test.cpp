#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "workloads/spec/record_json.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/step_line.h"

namespace perfbench::spec {
namespace {

// Every field gets a value of its own, so that a swap of two cannot hide.
StepRecord random_record(std::mt19937_64& engine) {
  StepRecord record;
  std::uniform_int_distribution<std::int64_t> whole(0, std::int64_t{1} << 40);
  std::normal_distribution<double> real(0.0, 1e3);
  for (auto* field : {&record.rank, &record.step, &record.wall_ns, &record.data_ns, &record.forward_ns,
                      &record.backward_ns, &record.exposed_comm_ns, &record.optimizer_ns, &record.other_ns,
                      &record.tokens, &record.probe_ns, &record.peak.weights_bytes, &record.peak.gradients_bytes,
                      &record.peak.optimizer_bytes, &record.peak.activations_bytes, &record.peak.gathered_bytes,
                      &record.peak.workspace_bytes, &record.peak.host_bytes, &record.peak.total_bytes}) {
    *field = whole(engine);
  }
  record.loss = real(engine);
  record.grad_norm = real(engine);
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
}

TEST(StepLineReader, RefusesWhatTheGeneralParserRefuses) {
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
