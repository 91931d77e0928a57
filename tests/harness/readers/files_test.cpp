#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "harness/readers/event_file.h"
#include "tests/harness/readers/read_text.h"

namespace perfbench::readers {
namespace {

using ::testing::Contains;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = spec::SampleKind;

Settings by_key(const std::string& metric, const std::string& key, const std::string& unit = "1") {
  return {.metrics = {{metric, {.key = key, .unit = unit}}}, .work = {}};
}

Settings by_regex(const std::string& metric, const std::string& regex, const std::string& unit = "1") {
  return {.metrics = {{metric, {.regex = regex, .unit = unit}}}, .work = {}};
}

// With a declared metric that has a regex.
ReadText declared(const std::string& log, const Settings& settings) {
  ReadText out;
  const auto reader =
      make_declared_reader(settings, [&out](const spec::Sample& sample) { out.samples.push_back(sample); });
  reader->feed(log, std::nullopt);
  reader->finish();
  out.notes = reader->notes();
  return out;
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ReaderError& e) {
    return e.what();
  }
  return "no error";
}

TEST(HfState, HasWindowsOfItsCumulativeRunTime) {
  const auto read = read_text("hf_state", R"({"global_step": 30, "log_history": [
    {"epoch": 0.2, "loss": 5.9, "learning_rate": 5e-06, "step": 10, "train_runtime": 0.5034, "train_tokens_per_second": 100.0},
    {"epoch": 0.4, "grad_norm": 0.915, "learning_rate": 2.5e-06, "loss": 5.4747, "num_input_tokens_seen": 10240, "step": 20,
     "train_runtime": 0.7034, "train_tokens_per_second": 25381.9},
    {"epoch": 0.4, "eval_loss": 5.0, "eval_runtime": 0.1, "step": 20},
    {"epoch": 0.6, "loss": NaN, "step": 30, "train_runtime": 0.9034},
    {"epoch": 0.8, "loss": 5.0, "step": 40, "train_runtime": 1.0034},
    {"epoch": 0.8, "step": 40, "total_flos": 1.0, "train_loss": 5.5, "train_runtime": 1.1036, "train_steps_per_second": 40.0}]})");
  std::vector<std::int64_t> steps;
  for (const auto& sample : read.samples) {
    if (sample.metric != "step_time_s" || sample.kind == Kind::since_start_mean) continue;
    steps.push_back(sample.step);
    EXPECT_EQ(sample.covers, 10);
    EXPECT_NEAR(sample.value, sample.step == 20 ? 0.02 : 0.01, 1e-12);
    EXPECT_NEAR(sample.resolution, 2e-5, 1e-12);
  }
  EXPECT_THAT(steps, ElementsAre(20, 40));  // the time of step 30 contains the evaluation
  EXPECT_THAT(read.values("loss"), ElementsAre(5.9, 5.4747, testing::IsNan(), 5.0));
  EXPECT_DOUBLE_EQ(read.values("step_time_s").back(), 0.025);
  EXPECT_EQ(read.values("stated.tokens_per_s").size(), 2U);
}

TEST(HfState, Version4HasOnlyTheMeanOfTheWholeRun) {
  const auto read = read_text("hf_state", R"({"log_history": [{"loss": 5.9, "step": 1}, {"loss": 5.8, "step": 2},
    {"step": 2, "train_loss": 5.5, "train_runtime": 0.1, "train_steps_per_second": 20.0}]})");
  EXPECT_EQ(read.only("step_time_s").kind, Kind::since_start_mean);
  EXPECT_DOUBLE_EQ(read.only("step_time_s").value, 0.05);
}

TEST(Documents, DamagedOnesGiveANote) {
  EXPECT_THAT(read_text("hf_state", "{\"log_history\": [").notes, ElementsAre(HasSubstr("not a JSON document")));
  EXPECT_THAT(read_text("hf_state", "[1]").notes, ElementsAre(HasSubstr("not of the kind that this reader reads")));
  EXPECT_THAT(read_text("hf_state", R"({"log_history": [1, {"step": {}}]})").samples, ElementsAre());
}

TEST(TorchprimeMetrics, AreClaims) {
  const auto read =
      read_text("torchprime_metrics", R"({"step_execution_time": 1.5, "mfu": 0.35, "tokens_per_second": 1234})");
  EXPECT_EQ(read.only("stated.step_time_s").value, 1.5);
  EXPECT_EQ(read.only("stated.mfu_fraction").value, 0.35);
  EXPECT_TRUE(read_text("torchprime_metrics", R"({"step_execution_time": null, "mfu": null})").samples.empty());
}

TEST(LightningCsv, HasSparseRowsAndTimeSinceTheStart) {
  const auto read =
      read_text("lightning_csv",
                "epoch,step,train/batches,train/device/samples_per_sec,train/time,train_loss\n"
                "0,0,1,,0.50,\n0,0,,,,6.0\n0,1,2,100.0,0.75,\n0,1,,,,5.5\n0,3,4,100.0,1.75,\n0,3,,,,5.0\n");
  EXPECT_THAT(read.values("step_time_s"), ElementsAre(0.25, 0.5));
  EXPECT_THAT(read.values("loss"), ElementsAre(6.0, 5.5, 5.0));
  EXPECT_THAT(read.values("stated.samples_per_s"), ElementsAre(100, 100));
}

TEST(JsonLines, AreReadByKeyInOurUnits) {
  const auto text =
      "{\"step\": 1, \"perf\": {\"ms\": 12.5}, \"x\": [1]}\nnot json\n{\"step\": 2, \"perf\": {\"ms\": "
      "NaN}}\n{\"step\": 3, "
      "\"perf\": {\"ms\": 13}}";
  const auto read = read_text("jsonl", text, by_key("step_time_s", "perf/ms", "ms"));
  ASSERT_EQ(read.samples.size(), 2U);
  EXPECT_DOUBLE_EQ(read.samples[0].value, 0.0125);
  EXPECT_EQ(read.samples[1].step, 2);
  EXPECT_THAT(read.notes, Contains(HasSubstr("1 lines could not be read")));
  EXPECT_THAT(read.notes, Contains(HasSubstr("has no end")));
}

TEST(Csv, IsReadByColumn) {
  const auto text = "\xef\xbb\xbfstep,\"time, ms\",note\r\n1,2.5,\"a \"\"b\"\"\"\r\n2,,x\r\n3,3.5\r\n4,4.5,\r\n";
  const auto read = read_text("csv", text, by_key("step_time_s", "time, ms", "ms"));
  EXPECT_THAT(read.values("step_time_s"), ElementsAre(DoubleEq(0.0025), DoubleEq(0.0045)));
  EXPECT_EQ(read.samples[1].step, 4);
  EXPECT_THAT(read.notes, ElementsAre(HasSubstr("1 lines could not be read")));
}

TEST(Hook, TakesEveryNumberOfALine) {
  const auto read = read_text("hook", "{\"step\": 3, \"step_time_s\": 0.12, \"loss\": 2.1, \"name\": \"x\"}\n[1]\n");
  EXPECT_EQ(read.only("step_time_s").value, 0.12);
  EXPECT_EQ(read.only("loss").step, 3);
  EXPECT_EQ(read.samples.size(), 2U);
}

TEST(DeclaredMetrics, AreFoundInLines) {
  const auto read = declared("time 5 ms\n[rank3]: step 7 time 12.50 ms\ntime x ms\n",
                             by_regex("step_time_s", R"((?:step (?P<step>\d+) )?time (?P<value>[\d.]+) ms)", "ms"));
  ASSERT_EQ(read.samples.size(), 2U);
  EXPECT_EQ(read.samples[0].step, 1);
  EXPECT_EQ(read.samples[1].step, 7);
  EXPECT_EQ(read.samples[1].rank, 3);
  EXPECT_DOUBLE_EQ(read.samples[1].value, 0.0125);
  EXPECT_NEAR(read.samples[1].resolution, 1e-5, 1e-12);
}

TEST(DeclaredMetrics, AreCountedOnEachRank) {
  const auto read = declared("0: steps/sec: 1\n1: steps/sec: 2\n1: steps/sec: 3\n0: steps/sec: 4\n",
                             by_regex("steps_per_s", R"(steps/sec: (?P<value>[\d.]+))", "1/s"));
  ASSERT_EQ(read.samples.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(read.samples[i].step, i < 2 ? 1 : 2);
  EXPECT_EQ(read.samples[3].rank, 0);
}

TEST(DeclaredMetrics, MayTakeOnlyTheLastValue) {
  auto settings = by_regex("reward", R"(reward=(\S+))");
  settings.metrics.at("reward").take = spec::Take::last;
  const auto read = declared("reward=1\nreward=2\n", settings);
  EXPECT_THAT(read.values("reward"), ElementsAre(2));
}

TEST(DeclaredMetrics, HaveErrorMessages) {
  EXPECT_THAT(error_of([] { declared("", by_regex("reward", "(?=x)")); }), HasSubstr("no look-around"));
  EXPECT_THAT(error_of([] { declared("", by_regex("reward", "x+")); }), HasSubstr("(?P<value>"));
  EXPECT_THAT(error_of([] { declared("", by_regex("reward", "(x)", "ms")); }), HasSubstr("must end in _s"));
  EXPECT_THAT(error_of([] { read_text("jsonl", ""); }), HasSubstr("no metric has a key"));
}

// A pattern for which a backtracking search takes exponential time, and a line of the greatest length.
TEST(DeclaredMetrics, TakeTimeInProportionToTheLine) {
  const auto line = std::string(LineFeed::kLongestLine + 10, 'a') + "\n";
  const auto read = declared(line + line, by_regex("reward", "(?:a|aa)+(?:a*)*(?P<value>b)"));
  EXPECT_TRUE(read.samples.empty());
}

std::string little(std::uint64_t value, std::size_t bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

std::string record(const std::string& data) {
  const auto length = little(data.size(), 8);
  return length + little(masked_crc32c(length), 4) + data + little(masked_crc32c(data), 4);
}

std::string field(int number, int wire, const std::string& bytes) {
  std::string out(1, static_cast<char>(number << 3 | wire));
  if (wire == 2) out += static_cast<char>(bytes.size());
  return out + bytes;
}

template <class T>
std::string bits(T value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

std::string event(int step, const std::string& value) {
  return record(field(1, 1, bits(1.5e9)) + field(2, 0, std::string(1, static_cast<char>(step))) +
                field(5, 2, field(1, 2, value)));
}

std::string scalar(const std::string& tag, float value) {
  return field(1, 2, tag) + field(2, 5, bits(value));
}

TEST(EventFile, HasTheChecksumOfTensorFlow) {
  EXPECT_EQ(masked_crc32c("123456789"), ((0xe3069283U >> 15) | (0xe3069283U << 17)) + 0xa282ead8U);
}

TEST(EventFile, GivesItsScalarsByTag) {
  const auto file = record(field(3, 2, "brain.Event:2")) + event(4, scalar("loss", 2.5F)) +
                    event(5, scalar("other", 9.0F)) +
                    event(6, field(1, 2, "loss") + field(8, 2, field(1, 0, "\1") + field(5, 2, bits(1.25F)))) +
                    event(7, field(1, 2, "loss") + field(8, 2, field(1, 0, "\2") + field(4, 2, bits(1.0))));
  const auto settings = by_key("loss", "loss");
  const auto read = read_text("tensorboard", file, settings);
  EXPECT_THAT(read.values("loss"), ElementsAre(2.5, 1.25, 1.0));
  EXPECT_EQ(read.samples[0].step, 4);
  for (const std::size_t chunk : {1U, 5U, 64U}) {
    EXPECT_THAT(read_text("tensorboard", file, settings, chunk).values("loss"), ElementsAre(2.5, 1.25, 1.0));
  }
}

TEST(EventFile, SaysWhereItIsDamagedOrCutOff) {
  const auto settings = by_key("loss", "loss");
  const auto file = event(4, scalar("loss", 2.5F)) + event(5, scalar("loss", 1.5F));
  const auto cut = read_text("tensorboard", file.substr(0, file.size() - 3), settings);
  EXPECT_THAT(cut.values("loss"), ElementsAre(2.5));
  EXPECT_THAT(cut.notes, ElementsAre(HasSubstr("cut off")));
  auto damaged = file;
  damaged[damaged.size() - 8] ^= 1;
  EXPECT_THAT(read_text("tensorboard", damaged, settings).notes, ElementsAre(HasSubstr("checksum")));
  const auto huge = little(UINT64_MAX, 8);
  const auto read = read_text("tensorboard", huge + little(masked_crc32c(huge), 4) + "rest", settings);
  EXPECT_TRUE(read.samples.empty());
}

}  // namespace
}  // namespace perfbench::readers
