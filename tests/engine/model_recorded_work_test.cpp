// A step or a layer that is recorded and replayed: when the host's part runs, and that the counts equal those of an
// executed step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/ops/cpu/cpu_ops.h"
#include "engine/sharding/recorded_work.h"
#include "tests/engine/silent_collectives.h"

namespace perfbench::engine {
namespace {

using testing::ElementsAre;

// The cpu backend, which claims to record and notes the calls. It computes at once nevertheless. Recordings are
// numbered.
class NotingOps : public cpu::CpuOps {
 public:
  std::vector<std::string> calls;
  bool records() const override { return true; }
  void begin_recording() override { calls.emplace_back("begin"); }
  std::unique_ptr<Recording> end_recording(std::unique_ptr<Recording> earlier) override {
    if (const auto* const known = dynamic_cast<Noted*>(earlier.get())) {
      calls.push_back("update " + known->number);
      return earlier;
    }
    calls.push_back("make " + std::to_string(++made_));
    return std::make_unique<Noted>(calls, std::to_string(made_));
  }

 private:
  class Noted final : public Recording {
   public:
    Noted(std::vector<std::string>& calls, std::string n) : number(std::move(n)), calls_(calls) {}
    void replay() override { calls_.push_back("replay " + number); }
    const std::string number;

   private:
    std::vector<std::string>& calls_;
  };

  int made_ = 0;
};

class RecordedWorkTest : public testing::Test {
 protected:
  RecordedWorkTest() : memory_(make_cpu_backing(), make_cpu_backing(), {}) {}

  // One product with 2 * 2 * 2 * 2 FLOPs.
  void work() {
    ops_.calls.emplace_back("work");
    ops_.matmul({.a = matrix_, .b = matrix_, .c = product_});
  }
  void run(RecordedWork& recorded) {
    recorded.run(context_, [this] { work(); });
  }

  Memory memory_;
  NotingOps ops_;
  std::unique_ptr<Collectives> collectives_ = make_single_collectives();
  PhaseClock clock_;
  Context context_{ops_, memory_, *collectives_, clock_};
  Tensor matrix_ = context_.activation_f32("matrix", Shape{2, 2});
  Tensor product_ = context_.activation_f32("product", Shape{2, 2});
};

TEST_F(RecordedWorkTest, RunsDirectlyThenIsRecordedThenReplayed) {
  RecordedWork step(RecordedWork::Operands::same_addresses);
  for (int i = 0; i < 4; ++i) run(step);
  EXPECT_THAT(ops_.calls, ElementsAre("work", "begin", "work", "make 1", "replay 1", "replay 1"));
  EXPECT_EQ(ops_.flops().feed_forward_flops, 4 * 16);
}

TEST_F(RecordedWorkTest, NewAddressesAreRecordedEachTime) {
  RecordedWork layer(RecordedWork::Operands::new_addresses);
  for (int i = 0; i < 3; ++i) run(layer);
  EXPECT_THAT(ops_.calls, ElementsAre("work", "begin", "work", "make 1", "begin", "work", "update 1"));
  EXPECT_EQ(ops_.flops().feed_forward_flops, 3 * 16);
}

TEST_F(RecordedWorkTest, IsExecutedIfRecordingsAreNotUsed) {
  RecordedWork step(RecordedWork::Operands::same_addresses);
  for (int i = 0; i < 3; ++i) run(step);
  ops_.calls.clear();
  context_.recordings = Recordings::unused;
  run(step);
  context_.recordings = Recordings::used;
  run(step);
  EXPECT_THAT(ops_.calls, ElementsAre("work", "replay 1"));
}

TEST_F(RecordedWorkTest, TracedWorkHasASeparateRecording) {
  RecordedWork step(RecordedWork::Operands::same_addresses);
  for (int i = 0; i < 3; ++i) run(step);
  ops_.calls.clear();
  context_.recordings = Recordings::traced;
  for (int i = 0; i < 2; ++i) run(step);
  context_.recordings = Recordings::used;
  run(step);
  EXPECT_THAT(ops_.calls, ElementsAre("begin", "work", "make 2", "replay 2", "replay 1"));
  EXPECT_EQ(ops_.flops().feed_forward_flops, 6 * 16);
}

TEST_F(RecordedWorkTest, TracedWorkUpdatesItsOwnRecording) {
  RecordedWork layer(RecordedWork::Operands::new_addresses);
  for (int i = 0; i < 2; ++i) run(layer);
  ops_.calls.clear();
  context_.recordings = Recordings::traced;
  for (int i = 0; i < 2; ++i) run(layer);
  context_.recordings = Recordings::used;
  run(layer);
  EXPECT_THAT(ops_.calls,
              ElementsAre("begin", "work", "make 2", "begin", "work", "update 2", "begin", "work", "update 1"));
}

constexpr std::array<Declared, 1> kDp{{{Axis::dp, Lane::background}}};

// Collectives of several ranks, which note what they are asked to watch and communicate nothing.
class WatchedCollectives final : public SilentCollectives {
 public:
  explicit WatchedCollectives(const Mesh& mesh) : SilentCollectives(mesh, kDp) {}
  int watched = 0;
  void watch_replay() override { ++watched; }
};

TEST_F(RecordedWorkTest, WithCollectivesIsWatchedWheneverItIsEnqueued) {
  WatchedCollectives collectives(Mesh({.ici = {.dp = 2}}, 0));
  Context context{ops_, memory_, collectives, clock_};
  RecordedWork step(RecordedWork::Operands::same_addresses);
  const auto run_step = [&] {
    step.run(context, [&] { collectives.all_reduce(Axis::dp, product_, Lane::background).wait(); });
  };
  run_step();
  EXPECT_EQ(collectives.watched, 0);  // on the first call each collective is watched individually
  run_step();
  EXPECT_EQ(collectives.watched, 1);
  run_step();
  EXPECT_EQ(collectives.watched, 2);
  RecordedWork without(RecordedWork::Operands::new_addresses);
  for (int i = 0; i < 3; ++i) without.run(context, [&] { work(); });
  EXPECT_EQ(collectives.watched, 2);
}

TEST(Collectives, AddTheTrafficOfAReplay) {
  const auto collectives = make_dry_collectives(Mesh({.ici = {.dp = 2}}, 0), kDp);
  const std::vector<spec::AxisTraffic> rows{{"dp", "all_reduce", 1, 100, 100}, {"fsdp", "all_gather", 2, 8, 4}};
  collectives->add_traffic(rows);
  collectives->add_traffic(rows);
  ASSERT_EQ(collectives->traffic().size(), 2U);
  EXPECT_EQ(collectives->traffic()[1].collective, "all_gather");
  EXPECT_EQ(collectives->traffic()[1].messages, 4);
  EXPECT_EQ(collectives->traffic()[0].payload_bytes, 200);
  EXPECT_EQ(collectives->traffic()[0].sent_bytes, 200);
}

}  // namespace
}  // namespace perfbench::engine
