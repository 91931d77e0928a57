// A training that is saved and resumed has the same bits as if it had never stopped, whatever trains, and whether its
// steps waited for the files or not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint_files.h"
#include "engine/checkpoint/restore.h"
#include "engine/core/error.h"
#include "engine/train/dry_walk.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/scratch_folder.h"
#include "tests/engine/training.h"
#include "workloads/spec/validate.h"

namespace perfbench::engine {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Checkpoints : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  }
  ScratchFolder scratch_;
};

spec::RunSpec saving(spec::RunSpec run, bool asynchronous = true) {
  run = sized_for_device(run);
  run.steps = 6;
  run.checkpoint = {.every_steps = 3, .asynchronous = asynchronous};
  return run;
}

spec::RunSpec restoring(spec::RunSpec run, const std::filesystem::path& folder) {
  run.checkpoint = {.restore = folder.string()};
  return run;
}

// Six steps; the states after three and after six are saved.
std::vector<spec::StepRecord> train_and_save(const spec::RunSpec& run, const std::filesystem::path& folder) {
  TrainingRun training(run);
  auto* const saver = training.trainer().saver();
  saver->open(folder, 0);
  std::vector<spec::StepRecord> records;
  for (std::int64_t i = 0; i < 6; ++i) {
    records.push_back(training.step());
    const std::int64_t waited = saver->after_steps(i + 1);
    EXPECT_EQ(waited > 0, i == 2 || i == 5);
  }
  saver->finish();
  EXPECT_EQ(saver->costs().saves, 2);
  return records;
}

std::int64_t restore(TrainingRun& training) {
  const auto steps =
      restore_checkpoint(training.context(), training.run(), training.trainer().parameters(), training.trainer().fp8());
  training.go_on_from(steps);
  return steps;
}

// Starts with other weights, so that none of them is right by chance.
struct Restored {
  explicit Restored(const spec::RunSpec& run)
      : training(run, {.seed = 99, .matrix_std = 0.5, .constants_std = 0.5}, make_single_collectives()),
        steps(restore(training)) {}
  TrainingRun training;
  std::int64_t steps;
};

void expect_same_bits_from(const spec::RunSpec& run, const std::filesystem::path& folder) {
  const auto in_one_go = train_and_save(run, folder);
  Restored later(restoring(run, folder / "step_00000003"));
  ASSERT_EQ(later.steps, 3);
  for (std::size_t i = 3; i < 6; ++i) {
    const auto record = later.training.step();
    EXPECT_EQ(record.step, in_one_go[i].step);
    EXPECT_EQ(record.loss, in_one_go[i].loss) << run.model.name << ", step " << i;
    EXPECT_EQ(record.grad_norm, in_one_go[i].grad_norm) << run.model.name << ", step " << i;
  }
  EXPECT_NE(in_one_go[3].loss, in_one_go[5].loss);
  EXPECT_EQ(find_checkpoint(folder).step, 6);
}

TEST_F(Checkpoints, ResumeWithTheSameBits) {
  expect_same_bits_from(saving(gpt_tiny()), scratch_ / "gpt");
  expect_same_bits_from(saving(llama_tiny(), false), scratch_ / "llama");
  if (is_slow()) return;  // the bytes of a state are the same wherever it comes from
  expect_same_bits_from(saving(glam_tiny()), scratch_ / "glam");
  expect_same_bits_from(saving(lora_tiny()), scratch_ / "lora");
  expect_same_bits_from(saving(dropped(gpt_tiny())), scratch_ / "dropped");
  expect_same_bits_from(saving(packed(gpt_tiny())), scratch_ / "packed");
}

TEST_F(Checkpoints, ResumeWithTheSameBitsInBf16) {
  auto run = llama_tiny();
  run.precision = spec::Precision::bf16;
  expect_same_bits_from(saving(run), scratch_ / "cast");
  run.bf16_weights = spec::Bf16Weights::kept;
  expect_same_bits_from(saving(run), scratch_ / "kept");
  run.bf16_weights = spec::Bf16Weights::cast;
  run.rounding = spec::Rounding::stochastic;
  expect_same_bits_from(saving(run), scratch_ / "stochastic");
  run.optimizer.moments = spec::StateType::bf16;
  expect_same_bits_from(saving(run), scratch_ / "moments");
  if (is_slow()) return;
  auto adapters = lora_tiny();
  adapters.precision = spec::Precision::bf16;
  expect_same_bits_from(saving(adapters), scratch_ / "adapters");
}

// Its scales come from previous steps.
TEST_F(Checkpoints, ResumeWithTheSameBitsInFp8) {
  auto run = llama_tiny();
  run.device = device_under_test();
  run.precision = spec::Precision::fp8;
  if (const auto why = spec::unsupported(run)) GTEST_SKIP() << "skipped: " << *why;
  expect_same_bits_from(saving(run), scratch_ / "delayed");
  if (is_slow()) return;
  run.fp8_amax_history = 2;
  expect_same_bits_from(saving(run), scratch_ / "short");
  run.fp8_amax_history = spec::RunSpec().fp8_amax_history;
  run.fp8_scaling = spec::Fp8Scaling::current;
  expect_same_bits_from(saving(run), scratch_ / "current");
}

TEST_F(Checkpoints, AreReadByAnEvaluationInItsOwnType) {
  auto run = saving(gpt_tiny());
  train_and_save(run, scratch_.path());
  auto same = restoring(run, scratch_.path());
  Restored trained(same);
  auto evaluation = same;
  evaluation.task = spec::Task::eval;
  evaluation.steps = 1;
  for (const auto precision : {spec::Precision::fp32, spec::Precision::bf16}) {
    evaluation.precision = precision;
    Restored scored(evaluation);
    const auto weight = trained.training.weight("layers.1.query.weight");
    const auto& unit = scored.training.trainer().parameters().units()[2];
    const auto place = unit.layout.place("query.weight");
    const auto found = unit.weight.view().slice(place.offset, place.shape);
    ASSERT_EQ(found.dtype, precision == spec::Precision::fp32 ? DType::f32 : DType::bf16);
    if (found.dtype == DType::f32) {
      EXPECT_TRUE(same_bits(to_host(found), weight));
      continue;
    }
    // Rounded to nearest: at most half of 2^-7 of it away.
    const auto pairs = to_host({found.data, DType::f32, Shape{found.elements() / 2}});
    for (std::size_t i = 0; i < weight.size(); ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(pairs[i / 2]);
      const float rounded = std::bit_cast<float>(i % 2 == 0 ? bits << 16 : bits & 0xFFFF0000U);
      ASSERT_NEAR(rounded, weight[i], std::abs(weight[i]) * 0x1p-8F) << i;
    }
  }
}

TEST_F(Checkpoints, AnotherModelIsRefusedWithTheDifferences) {
  train_and_save(saving(gpt_tiny()), scratch_.path());
  auto other = restoring(gpt_tiny(), scratch_.path());
  other.model.name = "another name of it";
  Restored renamed(other);
  EXPECT_EQ(renamed.steps, 6);
  other.model.d_ff = 64;
  other.model.layers = 2;
  try {
    Restored wrong(other);
    FAIL();
  } catch (const BadInput& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("is of another model"), HasSubstr("model.d_ff 128, but the run has 64"),
                                HasSubstr("model.layers 3, but the run has 2"), Not(HasSubstr("model.name"))));
  }
  EXPECT_THROW(Restored(restoring(lora_tiny(), scratch_.path())), BadInput);
}

TEST_F(Checkpoints, TheCopyInHostMemoryIsPlanned) {
  const auto run = saving(llama_tiny());
  TrainingRun training(run);
  const auto planned = dry_walk(training.run(), 0);
  training.step();
  EXPECT_EQ(planned.peak.host_bytes, training.ledger().peaks().host_bytes);
  // Weights and two moments; the padding of units to multiples of 16 elements is copied with them.
  EXPECT_GE(planned.peak.host_bytes, planned.parameters * 12);
  EXPECT_LT(planned.peak.host_bytes, planned.parameters * 12 * 105 / 100);
  EXPECT_EQ(dry_walk(llama_tiny(), 0).peak.host_bytes, 0);
}

TEST_F(Checkpoints, AFailureInTheBackgroundIsReportedByTheNextSave) {
  const auto run = saving(gpt_tiny());
  TrainingRun training(run);
  auto* const saver = training.trainer().saver();
  const auto folder = scratch_ / "folder";
  saver->open(folder, 0);
  std::filesystem::remove(folder);
  std::filesystem::create_symlink("/proc/nowhere", folder);
  EXPECT_GT(saver->after_steps(3), 0);
  EXPECT_THROW(saver->after_steps(6), EngineError);
}

}  // namespace
}  // namespace perfbench::engine
