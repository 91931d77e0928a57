// Disturbances of a log that every reader of logs must handle: prefixes, colours, bars, cuts, restarts, ranks.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "harness/readers/settle.h"
#include "tests/harness/readers/read_text.h"

namespace perfbench::readers {
namespace {

using ::testing::HasSubstr;

constexpr int kSteps = 12;
constexpr std::int64_t kStepNs = 20'000'000;

// Prints the record of a step, 0, 1, ..., in the form of one program. `salt` changes the figures, as in another run.
struct Program {
  std::string name;  // of the reader
  std::function<std::string(int step, int salt, const std::string& loss)> line;
  Settings settings = {};
  int first_step = 0;           // the program's number for step 0
  bool prints_times = true;     // otherwise times come from the arrival of lines
  bool prints_steps = true;     // without them, a restart is invisible
  std::string evaluation = {};  // printed between two steps
};

std::ostream& operator<<(std::ostream& out, const Program& program) {
  return out << program.name;
}

double ms_of(int step, int salt) {
  return 100 + step % 5 + 10 * salt;
}

std::string megatron_line(int step, int salt, const std::string& loss) {
  return fmt::format(" [2026-04-06 02:59:36] iteration {:8}/     100 | elapsed time per iteration (ms): {:.1f} | {} |",
                     step + 1, ms_of(step, salt),
                     loss == "nan" ? "number of nan iterations: 1" : "lm loss: " + loss + "E+00");
}

std::vector<Program> programs() {
  const Settings tokens{.metrics = {}, .work = {.tokens_per_device = 1e6, .samples = 1e6}};
  return {
      {"maxtext",
       [](int step, int salt, const std::string& loss) {
         return fmt::format(
             "completed step: {}, seconds: {:.3f}, TFLOP/s/device: 1.5, Tokens/s/device: 100.5, "
             "total_weights: 256, loss: {}",
             step, 1e-3 * ms_of(step, salt), loss);
       },
       {},
       0,
       true,
       true,
       "eval metrics after step: 3, loss=1.000"},
      {"torchtitan",
       [](int step, int salt, const std::string& loss) {
         return fmt::format(
             "step: {:2}  loss: {:>7}  grad_norm:  1.5000  memory:  2.66GiB(2.80%)  tps: {:.0f}  tflops: "
             "12.14  mfu: 1.23%",
             step + 1, loss, 1e6 / (1e-3 * ms_of(step, salt)));
       },
       tokens, 1, true, true, "validate step:  3  loss:  8.1709  memory:  2.66GiB(2.80%)  tps: 168,877"},
      {"megatron", megatron_line, {}, 1},
      {"megatron_bridge", megatron_line, {}, 1},
      {"nemo",
       [](int step, int salt, const std::string& loss) {
         return fmt::format(
             "Training epoch 0, iteration {}/99 | lr: 1e-05 | global_step: {} | reduced_train_loss: {} | "
             "train_step_timing in s: {:.4f}",
             step, step, loss, 1e-3 * ms_of(step, salt));
       }},
      {"axlearn",
       [](int step, int salt, const std::string& loss) {
         return fmt::format("process   0 step {:8}] loss={}\nprocess   0 step {:8}] Average step time: {:.4f} seconds",
                            step + 1, loss, step + 1, 1e-3 * ms_of(step, salt));
       },
       {},
       1},
      {"llmc",
       [](int step, int salt, const std::string& loss) {
         return fmt::format(
             "step {:4}/74 | loss {} (+nanz)| norm 1.4800 (+nanz)| lr 3.00e-04 | {:.2f} ms | -100.0% bf16 "
             "MFU | 91886 tok/s",
             step + 1, loss, ms_of(step, salt));
       },
       {},
       1},
      {"nanogpt",
       [](int step, int salt, const std::string& loss) {
         return fmt::format("iter {}: loss {}, time {:.2f}ms, mfu 3.25%", step, loss, ms_of(step, salt));
       },
       {},
       0,
       true,
       true,
       "step 3: train loss 4.1, val loss 4.2"},
      {"hf_trainer",
       [](int step, int salt, const std::string& loss) {
         double elapsed_s = 0;
         for (int before = 0; before <= step; ++before) elapsed_s += 1e-3 * ms_of(before, salt);
         return fmt::format("{{'loss': '{}', 'learning_rate': '2.5e-06', 'train_runtime': '{:.4f}'}}", loss, elapsed_s);
       },
       {},
       1,
       true,
       false,
       "{'eval_loss': '3.5'}"},
      {"litgpt",
       [](int step, int salt, const std::string& loss) {
         return fmt::format(
             "Epoch 1 | iter {0} step {0} | loss train: {1}, val: n/a | iter time: {2:.2f} ms (step) "
             "remaining time: 0:01:00",
             step + 1, loss, ms_of(step, salt));
       },
       {},
       1},
      {"deepspeed",
       [](int step, int salt, const std::string&) {
         return fmt::format(
             "epoch=0/micro_step=1/global_step={}, RunningAvgSamplesPerSec=1.5, CurrSamplesPerSec={:.3f}, "
             "MemAllocated=1.5GB, MaxMemAllocated=3.5GB",
             step + 1, 1e6 / (1e-3 * ms_of(step, salt)));
       },
       tokens, 1},
      {"levanter",
       [](int step, int salt, const std::string& loss) {
         return fmt::format(
             "{{\"tracker\": \"json_logger\", \"event\": \"log\", \"step\": {}, \"throughput/duration\": "
             "{:.4f}, \"train/loss\": {}}}",
             step, 1e-3 * ms_of(step, salt), loss == "nan" ? "NaN" : loss);
       }},
      {"seqax",
       [](int step, int, const std::string& loss) {
         return fmt::format("[2024-05-01 00:00:00] Step {}: {{'loss': {}, 'grad_norm': 1.25}}", step, loss);
       },
       {},
       0,
       false},
      {"torchprime",
       [](int step, int, const std::string& loss) {
         return fmt::format("Epoch: 0.1000, step: {}, loss: {}, grad_norm: 1.2500, lr: 2.00e-05, trace time: 8.50 ms",
                            step, loss);
       },
       {},
       0,
       false},
  };
}

std::string loss_of(int step, int salt) {
  return fmt::format("{:.4f}", 5.0 - 0.1 * step + 0.01 * salt);
}

using Change = std::function<std::string(std::string line, int step)>;

std::string log_of(const Program& program, int first, int end, int salt = 0, const Change& change = {}) {
  std::string out;
  for (int step = first; step < end; ++step) {
    auto line = program.line(step, salt, loss_of(step, salt));
    out += (change ? change(std::move(line), step) : line) + "\n";
  }
  return out;
}

// A line may contain several records.
std::string prefixed(const std::string& line, const std::string& prefix) {
  std::string out = prefix;
  for (const char c : line) {
    out += c;
    if (c == '\n') out += prefix;
  }
  return out;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// Lines with time stamps of their arrival, one for each step.
std::vector<spec::Sample> read_stamped(const Program& program, const std::string& log, std::int64_t step_ns) {
  std::vector<spec::Sample> samples;
  const auto reader = make_reader(program.name, program.settings,
                                  [&samples](const spec::Sample& sample) { samples.push_back(sample); });
  std::int64_t at_ns = 1'000'000;
  for (std::size_t begin = 0; begin < log.size();) {
    const auto end = log.find('\n', begin) + 1;
    reader->feed(std::string_view(log).substr(begin, end - begin), at_ns);
    at_ns += step_ns;
    begin = end;
  }
  reader->finish();
  return samples;
}

class Logs : public testing::TestWithParam<Program> {
 protected:
  const Program& program() const { return GetParam(); }
  ReadText read(const std::string& log, std::size_t chunk = std::string_view::npos) const {
    return read_text(program().name, log, program().settings, chunk);
  }
  // Compares the samples, ignoring rank and arrival.
  static void expect_same(const ReadText& found, const ReadText& wanted) {
    ASSERT_EQ(found.samples.size(), wanted.samples.size());
    for (std::size_t i = 0; i < found.samples.size(); ++i) {
      auto sample = found.samples[i];
      sample.rank = wanted.samples[i].rank;
      EXPECT_TRUE(sample == wanted.samples[i]) << i << ": " << sample.metric << " " << sample.value;
    }
  }
};

class NumberedLogs : public Logs {};
class LogsWithLosses : public Logs {};
class LogsWithEvaluations : public Logs {};
class LogsWithoutTimes : public Logs {};

TEST_P(Logs, AreReadWhateverPrefixTheirLinesHave) {
  const auto plain = read(log_of(program(), 0, kSteps));
  ASSERT_GE(plain.samples.size(), static_cast<std::size_t>(kSteps - 1));
  for (const auto* prefix : {"0: ", " 0: ", "[1,0]<stdout>:", "[prterun-node-7@1,0]<stdout>: ", "[default0]:",
                             "[rank0]:", "[default0]:[rank0]:[titan] 2025-06-26 18:23:14,486 - root - INFO - ",
                             "I0811 21:54:55.531340 138304841739136 metric_logger.py:226] ",
                             "2026-01-01T00:00:00.123456789Z stdout F ", "[pod/train-0-abcde/main] "}) {
    SCOPED_TRACE(prefix);
    expect_same(
        read(log_of(program(), 0, kSteps, 0, [&](const std::string& line, int) { return prefixed(line, prefix); })),
        plain);
  }
}

TEST_P(Logs, AreReadInColourAndBehindProgressBars) {
  const auto plain = read(log_of(program(), 0, kSteps));
  expect_same(read(log_of(program(), 0, kSteps, 0,
                          [](std::string line, int) {
                            replace_all(line, ": ", ": \x1b[38;2;180;60;0m");
                            return "\x1b[32m" + line + "\x1b[0m\x1b[K";
                          })),
              plain);
  expect_same(read(log_of(program(), 0, kSteps, 0,
                          [](const std::string& line, int) { return "Epoch: 33%|###   | 1.55s/it\r" + line + "\r"; })),
              plain);
  expect_same(read(log_of(program(), 0, kSteps, 0, [](const std::string& line, int) { return "\xff\xfe " + line; })),
              plain);
}

TEST_P(Logs, AreReadInChunksOfAnySize) {
  const auto log = log_of(program(), 0, kSteps);
  const auto whole = read(log);
  for (const std::size_t chunk : {1U, 2U, 7U, 63U, 64U, 4096U}) expect_same(read(log, chunk), whole);
}

TEST_P(Logs, LoseALastLineThatIsCutOff) {
  const auto log = log_of(program(), 0, kSteps);
  const auto next = program().line(kSteps, 0, loss_of(kSteps, 0));
  const auto last = next.rfind('\n') == std::string::npos ? next : next.substr(next.rfind('\n') + 1);
  const auto cut = read(log + last);  // without its line end, a number may lack a digit
  expect_same(cut, read(log));
  EXPECT_THAT(cut.notes, testing::Contains(HasSubstr("the last line has no end")));
}

TEST_P(Logs, ARestartIsQuarantinedUnlessItIsAllowed) {
  const auto log = log_of(program(), 0, 9) + log_of(program(), 6, kSteps, 1);
  const auto samples = read(log).samples;
  const auto refused = settle(samples, {.drop = 0, .steps = kSteps});
  if (!program().prints_steps) {
    EXPECT_EQ(refused.restarts, 0);  // records are counted, and the count continues
    return;
  }
  EXPECT_EQ(refused.restarts, 1);
  EXPECT_THAT(refused.quarantine, HasSubstr("restarted"));
  EXPECT_THAT(refused.quarantine,
              HasSubstr(fmt::format("steps {} to {} taken twice", 6 + program().first_step, 8 + program().first_step)));
  const auto allowed = settle(samples, {.drop = 0, .steps = kSteps, .restarts = spec::Restarts::allowed});
  EXPECT_EQ(allowed.quarantine, "");
  EXPECT_EQ(allowed.steps, kSteps);
}

TEST_P(NumberedLogs, TwoAttemptsAreOneLog) {
  const auto settled = settle(read(log_of(program(), 0, 4) + log_of(program(), 0, kSteps, 1)).samples, {.drop = 2});
  EXPECT_EQ(settled.restarts, 1);
  EXPECT_EQ(settled.steps, kSteps);
  for (const auto& sample : settled.samples) {
    if (sample.metric != "step_time_s") continue;
    EXPECT_GE(sample.step, 2 + program().first_step);  // the second start is as slow as the first one
    EXPECT_GE(sample.value, 0.109);                    // from the second attempt
  }
}

// Their records have parts without a step or without a prefix, which their ranks must not mix.
bool prints_on_one_rank(const Program& program) {
  return program.name == "megatron_bridge" || program.name == "axlearn" || !program.prints_steps;
}

TEST_P(Logs, SeveralRanksGiveTheValuesOfTheLowest) {
  for (const auto& launcher : {std::pair{"[rank", "]:"}, std::pair{"[1,", "]<stdout>:"}, std::pair{"", ": "}}) {
    std::string log;
    for (int step = 0; step < kSteps; ++step) {
      for (const int rank : {1, 0, 2}) {
        const auto prefix = fmt::format("{}{}{}", launcher.first, rank, launcher.second);
        log += prefixed(program().line(step, rank, loss_of(step, rank)), prefix) + "\n";
      }
    }
    const auto settled = settle(read(log).samples, {.drop = 0});
    for (const auto& sample : settled.samples) {
      if (sample.metric == "step_time_s") {
        EXPECT_LE(sample.value, 0.1041) << launcher.first << sample.step;
      }
    }
    if (!prints_on_one_rank(program())) {
      EXPECT_THAT(settled.notes, testing::Contains(HasSubstr("3 ranks printed records"))) << launcher.first;
    }
  }
}

// `mpirun --tag-output` of Open MPI 4 puts a tag before each piece that it reads from a rank's pipe, and after each
// line end in the piece.
std::string tagged(const std::string& piece, int rank) {
  const auto tag = fmt::format("[1,{}]<stdout>:", rank);
  std::string out = tag;
  for (std::size_t i = 0; i < piece.size(); ++i) {
    out += piece[i];
    if (piece[i] == '\n' && i + 1 < piece.size()) out += tag;
  }
  return out;
}

TEST_P(Logs, RanksThatPrintLinesInPiecesAreToldApart) {
  const int ranks = prints_on_one_rank(program()) ? 1 : 3;
  std::vector<std::string> left;
  for (int rank = 0; rank < ranks; ++rank) left.push_back(log_of(program(), 0, kSteps, rank));
  std::string log;
  std::mt19937 random(7);
  while (!std::ranges::all_of(left, &std::string::empty)) {
    auto& text = left[random() % left.size()];
    const auto piece = text.substr(0, 1 + random() % 60);
    text.erase(0, piece.size());
    if (!piece.empty()) log += tagged(piece, static_cast<int>(&text - left.data()));
  }
  const auto found = read(log);
  for (int rank = 0; rank < ranks; ++rank) {
    SCOPED_TRACE(rank);
    auto of_rank = found;
    std::erase_if(of_rank.samples, [&](const auto& sample) { return sample.rank != rank; });
    expect_same(of_rank, read(log_of(program(), 0, kSteps, rank)));
  }
}

// Lines that begin tags and end none, and a new rank in each piece: neither time nor memory grows with the product.
TEST(Tags, ThatAreHostileCostNoMoreThanText) {
  std::string log;
  for (int i = 0; i < 100'000; ++i) log += "[1]<stdx";
  for (int i = 0; i < 5; ++i) {
    log += "\n";
    for (int rank = 0; rank < 40'000; ++rank) log += fmt::format("[1,{}{}]<stdout>:x", i, rank);
  }
  log += "\n[1,0]<stdout>: step 1 loss 2.5\n";
  LineFeed feed;
  int lines = 0;
  std::string last;
  feed.feed(log, std::nullopt, [&](std::string_view line, ArrivalTime) {
    lines += 1;
    last = line;
  });
  EXPECT_GT(lines, 100'000);  // pieces over the limit are lines of their own
  EXPECT_EQ(last, "[1,0]<stdout>: step 1 loss 2.5");
}

TEST_P(LogsWithLosses, SayWhenALossIsNotANumber) {
  const auto log = log_of(program(), 0, 5) + program().line(5, 0, "nan") + "\n" + log_of(program(), 6, kSteps);
  const auto settled = settle(read(log).samples, {});
  EXPECT_EQ(settled.lost_loss_at, 5 + program().first_step);
}

TEST_P(LogsWithEvaluations, TimesDoNotIncludeEvaluations) {
  const auto plain = read(log_of(program(), 0, kSteps));
  const auto with = read(log_of(program(), 0, 6) + program().evaluation + "\n" + log_of(program(), 6, kSteps));
  const auto left_out = program().name == "torchtitan" ? 0U : 1U;  // its clock is reset
  EXPECT_EQ(with.values("step_time_s").size(), plain.values("step_time_s").size() - left_out);
  EXPECT_EQ(with.values("loss").size(), plain.values("loss").size());
}

TEST_P(NumberedLogs, RecordsOfOneStepInTenCoverAllSteps) {
  std::string log;
  for (int step = 0; step < 60; ++step) {
    const int number = step + program().first_step;
    if (number % 10 == 0) log += program().line(step, 0, loss_of(step, 0)) + "\n";
  }
  const auto settled = settle(read(log).samples, {.drop = 0, .steps = 60});
  EXPECT_EQ(settled.log_interval, 10);
  EXPECT_EQ(settled.quarantine, "");
  EXPECT_THAT(settle(read(log).samples, {.drop = 0, .steps = 80}).quarantine, HasSubstr("of 80 steps"));
}

TEST_P(LogsWithoutTimes, UseTheTimesOfArrival) {
  const auto log = log_of(program(), 0, kSteps);
  const auto settled = settle(read_stamped(program(), log, kStepNs), {.drop = 1});
  EXPECT_TRUE(settled.times_of_arrival);
  EXPECT_NEAR(mean_step_time_s(settled), 1e-9 * kStepNs, 1e-12);
  const auto buffered = settle(read_stamped(program(), log, 0), {.drop = 1});
  EXPECT_FALSE(buffered.has_times);
  EXPECT_THAT(buffered.notes, testing::Contains(HasSubstr("start Python with -u")));
}

std::string name_of(const testing::TestParamInfo<Program>& info) {
  return info.param.name;
}

std::vector<Program> programs_that(const std::function<bool(const Program&)>& wanted) {
  auto all = programs();
  std::erase_if(all, [&wanted](const Program& program) { return !wanted(program); });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Readers, Logs, testing::ValuesIn(programs()), name_of);
INSTANTIATE_TEST_SUITE_P(Readers, NumberedLogs,
                         testing::ValuesIn(programs_that([](const auto& program) { return program.prints_steps; })),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Readers, LogsWithLosses, testing::ValuesIn(programs_that([](const auto& program) {
                           return program.name != "deepspeed";
                         })),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Readers, LogsWithEvaluations, testing::ValuesIn(programs_that([](const auto& program) {
                           return !program.evaluation.empty();
                         })),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Readers, LogsWithoutTimes,
                         testing::ValuesIn(programs_that([](const auto& program) { return !program.prints_times; })),
                         name_of);

TEST(LogPrograms, CoverEveryReader) {
  const auto all = programs();
  for (const auto& info : all_readers()) {
    if (info.source != Source::log) continue;
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Program& program) { return program.name == info.name; }))
        << info.name;
  }
}

}  // namespace
}  // namespace perfbench::readers
