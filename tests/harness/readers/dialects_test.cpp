// One record of each program, in each form in which the program prints it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/readers/figure.h"
#include "tests/harness/readers/read_text.h"

namespace perfbench::readers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = spec::SampleKind;

struct Dialect {
  std::string name;
  std::string reader;
  std::string text;
  std::int64_t step = 0;
  std::map<std::string, double> values;
  Settings settings = {};
};

std::ostream& operator<<(std::ostream& out, const Dialect& dialect) {
  return out << dialect.name;
}

Settings with_work(double tokens_per_device, double samples) {
  return {.metrics = {}, .work = {.tokens_per_device = tokens_per_device, .samples = samples}};
}

constexpr double kGiB = 1024.0 * 1024 * 1024;

const std::vector<Dialect>& dialects() {
  static const std::vector<Dialect> kDialects{
      {"maxtext",
       "maxtext",
       "I1127 08:09:28.573064 139915718011776 metric_logger.py:265] completed step: 2, seconds: 0.002, TFLOP/s/device: "
       "0.073, Tokens/s/device: 106489.185, total_weights: 256, loss: 6.061, lm_loss: 6.061, perplexity: 428.816\n",
       2,
       {{"step_time_s", 0.002},
        {"stated.flops_per_s_per_device", 0.073e12},
        {"stated.tokens_per_s_per_device", 106489.185},
        {"real_tokens", 256},
        {"loss", 6.061}}},
      {"maxtext_slices",
       "maxtext",
       "completed step: 7, seconds: 1.250, live slice count: 2, TFLOP/s/device: 300.5, Tokens/s/device: 8000.0, "
       "total_weights: 65536, loss: 2.5\n",
       7,
       {{"step_time_s", 1.25},
        {"stated.flops_per_s_per_device", 300.5e12},
        {"stated.tokens_per_s_per_device", 8000},
        {"real_tokens", 65536},
        {"loss", 2.5}}},
      {"maxtext_old",
       "maxtext",
       "completed step: 4, seconds: 3.125, TFLOP/s/device: 61.5, loss: 9.75\n",
       4,
       {{"step_time_s", 3.125}, {"stated.flops_per_s_per_device", 61.5e12}, {"loss", 9.75}}},
      {"maxtext_jsonl",
       "maxtext_jsonl",
       R"({"step": 7.0, "perf/step_time_seconds": 0.011855, "perf/per_device_tokens_per_sec": 21594.2, )"
       R"("perf/per_device_tflops_per_sec": 0.015, "learning/loss": 5.9, "learning/grad_norm": 1.5, )"
       R"("learning/raw_grad_norm": 1.6, "learning/total_weights": 256.0, "run_name": "t"})"
       "\n",
       7,
       {{"step_time_s", 0.011855},
        {"stated.tokens_per_s_per_device", 21594.2},
        {"stated.flops_per_s_per_device", 0.015e12},
        {"loss", 5.9},
        {"grad_norm", 1.5},
        {"real_tokens", 256}}},
      {"torchtitan_old",
       "torchtitan",
       "[rank0]:[titan] 2025-06-26 18:23:14,486 - root - INFO - step:  1  loss:  8.1709  memory:  2.66GiB(2.80%)  tps: "
       "168,877  tflops: 12.14  mfu: 1.23%\n",
       1,
       {{"step_time_s", 16384.0 / 168877},
        {"loss", 8.1709},
        {"device_memory_bytes", 2.66 * kGiB},
        {"stated.tokens_per_s_per_device", 168877},
        {"stated.flops_per_s_per_device", 12.14e12},
        {"stated.mfu_fraction", 0.0123}},
       with_work(16384, 0)},
      {"torchtitan",
       "torchtitan",
       "step:  1  loss:  8.1709  grad_norm:  1.5000  memory:  2.66GiB(2.80%)  tps: 1,000  tflops: 1,012.14  mfu: N/A\n",
       1,
       {{"loss", 8.1709},
        {"grad_norm", 1.5},
        {"device_memory_bytes", 2.66 * kGiB},
        {"stated.tokens_per_s_per_device", 1000},
        {"stated.flops_per_s_per_device", 1012.14e12}}},
      {"megatron",
       "megatron",
       " [2024-04-06 02:59:36] iteration       43/     100 | consumed samples:         5504 | elapsed time per "
       "iteration "
       "(ms): 5444.9 | throughput per GPU (TFLOP/s/GPU): 239.8 | learning rate: 8.600000E-06 | global batch size:   "
       "128 | "
       "lm loss: 1.825991E+00 | loss scale: 1.0 | grad norm: 2.250 | number of skipped iterations:   0 | number of nan "
       "iterations:   0 |\n",
       43,
       {{"step_time_s", 5.4449},
        {"stated.flops_per_s_per_device", 239.8e12},
        {"learning_rate", 8.6e-6},
        {"loss", 1.825991},
        {"grad_norm", 2.25}}},
      {"megatron_bridge",
       "megatron_bridge",
       "Step Time : 5.44s GPU utilization: 412.5MODEL_TFLOP/s/GPU\n"
       " [2026-04-06 02:59:36.123456] iteration        1/     100 | consumed samples: 128 | elapsed time per iteration "
       "(ms): 5444.9 | learning rate: 8.6E-06 | lm loss: 1.5E+00 |\n",
       1,
       {{"step_time_s", 5.4449},
        {"stated.flops_per_s_per_device", 412.5e12},
        {"learning_rate", 8.6e-6},
        {"loss", 1.5}}},
      {"megatron_bridge_old",
       "megatron_bridge",
       "Step Time : 5.44s GPU utilization: 412.5TFLOP/s/GPU\n",
       1,
       {{"step_time_s", 5.44}, {"stated.flops_per_s_per_device", 412.5e12}}},
      {"nemo",
       "nemo",
       "Training epoch 0, iteration 3/99 | lr: 1.499e-07 | global_batch_size: 32 | global_step: 3 | "
       "reduced_train_loss: "
       "11.03 | train_step_timing in s: 5.312 | consumed_samples: 128\n",
       3,
       {{"step_time_s", 5.312}, {"loss", 11.03}, {"learning_rate", 1.499e-7}}},
      {"nemo_bar",
       "nemo",
       "Epoch 0: : 100%|##| 100/100 [10:48<00:00, reduced_train_loss=0.0172, global_step=99.00, "
       "consumed_samples=25600.0, train_step_timing in s=3.130]\n",
       99,
       {{"step_time_s", 3.13}, {"loss", 0.0172}}},
      {"axlearn",
       "axlearn",
       "I0811 21:54:55.531340 138304841739136 trainer.py:226] Trainer process   0 step      100] loss=6.5\n"
       "I0811 21:54:55.531340 138304841739136 trainer.py:226] Trainer process   0 step      100] Average step time: "
       "1.75 seconds\n",
       100,
       {{"step_time_s", 1.75}, {"loss", 6.5}}},
      {"llmc_cu",
       "llmc",
       "step   61/74 | loss 3.208939 (+nanz)| norm 1.4800 (+nanz)| lr 3.00e-04 | 44.57 ms | -100.0% bf16 MFU | 91886 "
       "tok/s\n",
       61,
       {{"step_time_s", 0.04457},
        {"loss", 3.208939},
        {"grad_norm", 1.48},
        {"learning_rate", 3e-4},
        {"stated.tokens_per_s", 91886}}},
      {"llmc_c", "llmc", "step 3: train loss 4.1 (took 1234.5 ms)\n", 3, {{"step_time_s", 1.2345}, {"loss", 4.1}}},
      {"llmc_fp32",
       "llmc",
       "step    1/74: train loss 4.3 (80.1 ms, 51200 tok/s)\n",
       1,
       {{"step_time_s", 0.0801}, {"loss", 4.3}, {"stated.tokens_per_s", 51200}}},
      {"llmc_py",
       "llmc",
       "step   12/74 | train loss 3.208939 | norm 1.4800 | lr 3.00e-04 | (44.57 ms | 91886 tok/s)\n",
       12,
       {{"step_time_s", 0.04457}, {"loss", 3.208939}, {"stated.tokens_per_s", 91886}}},
      {"llmq",
       "llmq",
       "[\n"
       R"({"log": "gpu", "time": "2026-01-01", "step": 5, "clock": 1980, "power": 650000},)"
       "\n"
       R"({"log": "step", "time": "2026-01-01", "step": 5, "step_tokens": 4096, "duration_ms": 251, "norm": 1.25, "loss": 3.5, "lr": 0.0003},)"
       "\n",
       5,
       {{"step_time_s", 0.251}, {"loss", 3.5}, {"grad_norm", 1.25}, {"learning_rate", 3e-4}}},
      {"nanogpt",
       "nanogpt",
       "iter 20: loss 4.1250, time 123.45ms, mfu 3.25%\n",
       20,
       {{"step_time_s", 0.12345}, {"loss", 4.125}, {"stated.mfu_fraction", 0.0325}}},
      {"nanogpt_no_mfu",
       "nanogpt",
       "iter 0: loss 10.9, time 9123.45ms, mfu -100.00%\n",
       0,
       {{"step_time_s", 9.12345}, {"loss", 10.9}}},
      {"hf4",
       "hf_trainer",
       "{'loss': 5.5566, 'grad_norm': 0.91, 'learning_rate': 2.5e-06, 'epoch': 0.4}\n",
       1,
       {{"loss", 5.5566}, {"grad_norm", 0.91}, {"learning_rate", 2.5e-6}}},
      {"hf5",
       "hf_trainer",
       "{'loss': '5.475', 'grad_norm': '0.9153', 'learning_rate': '2.5e-06', 'epoch': '0.4', 'num_input_tokens_seen': "
       "10240, 'train_runtime': '0.4034', 'train_tokens_per_second': '2.538e+04'}\n",
       1,
       {{"loss", 5.475}, {"grad_norm", 0.9153}, {"learning_rate", 2.5e-6}, {"stated.tokens_per_s", 25380}}},
      {"litgpt",
       "litgpt",
       "Epoch 1 | iter 3 step 1 | loss train: 2.5, val: n/a | iter time: 300.25 ms remaining time: 0:01:00\n"
       "Epoch 1 | iter 4 step 2 | loss train: 2.4, val: n/a | iter time: 310.50 ms (step) remaining time: 0:01:00\n",
       2,
       {{"step_time_s", 0.61075}, {"loss", 2.4}}},
      {"deepspeed",
       "deepspeed",
       "[2024-01-01 00:00:00,000] [INFO] [timer.py:260:stop] epoch=0/micro_step=40/global_step=20, "
       "RunningAvgSamplesPerSec=-inf, CurrSamplesPerSec=64.0, MemAllocated=1.5GB, MaxMemAllocated=3.5GB\n",
       20,
       {{"step_time_s", 0.5}, {"stated.samples_per_s", 64}, {"device_memory_bytes", 3.5 * kGiB}},
       with_work(0, 32)},
      {"levanter",
       "levanter",
       R"(2026-01-01T00:00:00 - 0 - levanter.tracker - INFO :: {"tracker": "json_logger", "event": "log", "step": 12, )"
       R"("metrics": {}, "throughput/duration": 0.5, "throughput/loading_time": 0.03, "throughput/hook_time": 0.02, )"
       R"("throughput/tokens_per_second": 1e5, "throughput/mfu": 41.5, "train/loss": 3.25})"
       "\n",
       12,
       {{"step_time_s", 0.55},
        {"loading_time_s", 0.03},
        {"hook_time_s", 0.02},
        {"stated.tokens_per_s", 1e5},
        {"stated.mfu_fraction", 0.415},
        {"loss", 3.25}}},
      {"torchtune",
       "torchtune",
       "Step 9 | loss:1.25 lr:2e-05 tokens_per_second_per_gpu:2048.0 peak_memory_active:12.5 grad_norm:0.75 \n",
       9,
       {{"step_time_s", 2},
        {"loss", 1.25},
        {"learning_rate", 2e-5},
        {"grad_norm", 0.75},
        {"stated.tokens_per_s_per_device", 2048},
        {"device_memory_bytes", 12.5 * kGiB}},
       with_work(4096, 0)},
      {"torchtune_json",
       "torchtune",
       R"({"step": 9, "loss": 1.25, "lr": 2e-05, "tokens_per_second_per_gpu": 2048.0})"
       "\n",
       9,
       {{"loss", 1.25}, {"learning_rate", 2e-5}, {"stated.tokens_per_s_per_device", 2048}}},
      {"seqax",
       "seqax",
       "[2024-05-01 00:00:00] Step 11: {'loss': 3.5, 'grad_norm': 1.25, 'learning_rate': 0.001}\n"
       "Profile time: 0.75s for 2 steps.\n"
       "MFU (projections only): 45.10% MFU\n",
       11,
       {{"step_time_s", 0.375},
        {"loss", 3.5},
        {"grad_norm", 1.25},
        {"learning_rate", 1e-3},
        {"stated.mfu_fraction", 0.451}}},
      {"torchprime",
       "torchprime",
       "Epoch: 0.1000, step: 3, loss: 9.5000, grad_norm: 1.2500, lr: 2.00e-05, trace time: 812.50 ms\n",
       3,
       {{"loss", 9.5}, {"grad_norm", 1.25}, {"learning_rate", 2e-5}, {"trace_time_s", 0.8125}}},
  };
  return kDialects;
}

class Dialects : public testing::TestWithParam<Dialect> {};

TEST_P(Dialects, GiveTheFiguresOfARecordInOurUnits) {
  const auto& dialect = GetParam();
  const auto read = read_text(dialect.reader, dialect.text, dialect.settings);
  std::map<std::string, double> found;
  for (const auto& sample : read.samples) {
    EXPECT_EQ(sample.step, dialect.step) << sample.metric;
    found[sample.metric] = sample.value;
  }
  ASSERT_EQ(found.size(), dialect.values.size()) << testing::PrintToString(found);
  for (const auto& [metric, value] : dialect.values) EXPECT_DOUBLE_EQ(found[metric], value) << metric;
  EXPECT_TRUE(read.notes.empty()) << testing::PrintToString(read.notes);
}

INSTANTIATE_TEST_SUITE_P(Readers, Dialects, testing::ValuesIn(dialects()),
                         [](const auto& one) { return one.param.name; });

TEST(ReaderList, HasADialectForEveryReaderOfLogs) {
  for (const auto& info : all_readers()) {
    if (info.source != Source::log) continue;
    const auto is_tested = [&](const Dialect& dialect) { return dialect.reader == info.name; };
    EXPECT_TRUE(std::any_of(dialects().begin(), dialects().end(), is_tested)) << info.name;
  }
}

TEST(ReaderList, NamesTheNearestReader) {
  try {
    reader_info("nanogtp");
    FAIL() << "there is no reader nanogtp";
  } catch (const ReaderError& e) {
    EXPECT_THAT(e.what(), HasSubstr("did you mean 'nanogpt'?"));
    EXPECT_THAT(e.what(), HasSubstr("maxtext, "));
  }
}

TEST(ReaderList, KnowsWhichReaderALogIsFor) {
  const auto nanogpt = std::string("iter 0: loss 4.0, time 1.00ms, mfu 1.0%\n");
  EXPECT_THAT(readers_that_know(nanogpt), ElementsAre("nanogpt"));
  EXPECT_THAT(readers_that_know("nothing here\n"), ElementsAre());
}

TEST(Times, WindowsSayHowManyStepsTheyCover) {
  const auto line = [](int step) {
    return " iteration " + std::to_string(step) + "/ 100 | elapsed time per iteration (ms): 100.0 |\n";
  };
  const auto covers = [](const ReadText& read) {
    std::vector<std::int64_t> out;
    for (const auto& sample : read.samples) out.push_back(sample.covers);
    return out;
  };
  const auto text = line(1) + line(10) + line(20);
  // Megatron-LM prints iteration 1 but does not begin a new window with it. Bridge has no such line.
  EXPECT_THAT(covers(read_text("megatron", text)), ElementsAre(1, 10, 10));
  EXPECT_THAT(covers(read_text("megatron_bridge", line(10) + line(20))), ElementsAre(0, 10));
  EXPECT_EQ(read_text("megatron", text).samples[1].kind, Kind::window_mean);
  EXPECT_NEAR(read_text("megatron", text).samples[1].resolution, 1e-4, 1e-12);
}

TEST(Times, TimesThatIncludeAnEvaluationAreLeftOut) {
  const auto read = read_text("nanogpt",
                              "iter 1: loss 4.0, time 10.00ms, mfu 1.0%\n"
                              "step 2: train loss 4.1, val loss 4.2\n"
                              "iter 2: loss 4.0, time 900.00ms, mfu 1.0%\n"
                              "iter 3: loss 4.0, time 11.00ms, mfu 1.0%\n");
  EXPECT_THAT(read.values("step_time_s"), ElementsAre(0.01, 0.011));
  EXPECT_EQ(read.values("loss").size(), 3U);
  EXPECT_THAT(read.notes, ElementsAre(HasSubstr("1 step times contain an evaluation")));
  const auto titan = read_text("torchtitan", "validate step:  3  loss:  8.1  memory:  2.66GiB(2.80%)  tps: 168,877\n");
  EXPECT_TRUE(titan.samples.empty());
  const auto maxtext = read_text("maxtext",
                                 "completed step: 4, seconds: 0.100, loss: 1.0\n"
                                 "eval metrics after step: 4, loss=1.000, total_weights=8.0\n"
                                 "completed step: 5, seconds: 7.100, loss: 1.0\n");
  EXPECT_THAT(maxtext.values("step_time_s"), ElementsAre(0.1));
}

TEST(Times, SinceTheStartAreDifferences) {
  const auto row = [](const char* loss, const char* runtime) {
    return std::string("{'loss': '") + loss + "', 'train_runtime': '" + runtime + "'}\n";
  };
  const auto text = row("5.0", "10.5") + row("4.0", "12.5") + row("3.0", "15.5") +
                    "{'train_runtime': '16.0', 'train_samples_per_second': '8', 'train_steps_per_second': '2.5', "
                    "'train_loss': '4.0', 'epoch': '1'}\n";
  const auto read = read_text("hf_trainer", text, {.metrics = {}, .work = {.log_interval = 10}});
  EXPECT_THAT(read.values("step_time_s"), ElementsAre(0.2, 0.3, 0.4));
  EXPECT_EQ(read.samples[2].step, 20);
  EXPECT_EQ(read.samples[1].covers, 10);
  EXPECT_EQ(read.samples.back().kind, Kind::since_start_mean);
}

TEST(Times, AHuggingFaceTrainersTimesHaveTheStepOfItsProgressBar) {
  const auto read =
      read_text("hf_trainer",
                "\r 33%|###  | 10/30 [00:17<00:30, 1.55s/it]      \r      {'loss': 5.5566, 'epoch': 0.3}\n"
                "\r  0%|     | 0/5 [00:00<?, ?it/s]\r100%|#####| 5/5 [00:00<?, ?it/s]\n{'eval_loss': 3.0}\n"
                "\r 66%|###  | 20/30 [00:30<00:30, 1.55s/it]\r 20%|  | 1/5 [00:00<?, ?it/s]\r      {'loss': 4.5, "
                "'epoch': 0.6}\n");
  ASSERT_EQ(read.samples.size(), 2U);
  EXPECT_EQ(read.samples[0].step, 10);
  EXPECT_EQ(read.samples[1].step, 20);
}

TEST(Times, AverageOverTheWholeRunOnce) {
  const auto read =
      read_text("llmc", "step 3: train loss 4.1 (took 1234.5 ms)\ntotal average iteration time: 44.5 ms\n");
  EXPECT_EQ(read.samples.back().kind, Kind::since_start_mean);
  EXPECT_DOUBLE_EQ(read.samples.back().value, 0.0445);
}

TEST(Megatron, ReportsANanLossByItsCount) {
  const auto read = read_text(
      "megatron", " iteration 5/ 9 | elapsed time per iteration (ms): 1.0 | number of nan iterations:   2 |\n");
  EXPECT_TRUE(std::isnan(read.only("loss").value));
  EXPECT_EQ(read.only("loss").metric, "loss");
}

TEST(Numbers, KeepTheResolutionOfTheirText) {
  EXPECT_NEAR(parse_number("5444.9")->resolution, 0.1, 1e-12);
  EXPECT_NEAR(parse_number("8.600000E-06")->resolution, 1e-12, 1e-20);
  EXPECT_EQ(parse_number("168,877")->value, 168877);
  EXPECT_EQ(parse_number("168,877")->resolution, 1);
  EXPECT_TRUE(std::isnan(parse_number("+nan")->value));
  EXPECT_TRUE(std::isinf(parse_number("-inf")->value));
  for (const auto* none : {"", " ", "N/A", "null", "1.2.3", "12ms", "-"}) EXPECT_FALSE(parse_number(none)) << none;
}

TEST(Units, FitTheNameOfTheMetric) {
  EXPECT_EQ(unit_factor("ms", "step_time_s"), 1e-3);
  EXPECT_EQ(unit_factor("GiB", "memory_bytes"), kGiB);
  EXPECT_EQ(unit_factor("1", "reward"), 1);
  EXPECT_FALSE(unit_factor("ms", "reward"));
  EXPECT_FALSE(unit_factor("s", "tokens_per_s"));
  EXPECT_FALSE(unit_factor("parsec", "reward"));
}

}  // namespace
}  // namespace perfbench::readers
