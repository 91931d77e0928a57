#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "engine/core/error.h"
#include "engine/parallel/collectives.h"

namespace perfbench::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TensorView view(std::vector<float>& values) {
  return {values.data(), DType::f32, Shape{static_cast<std::int64_t>(values.size())}};
}
TensorView dry(std::int64_t elements, DType dtype = DType::f32) {
  return {nullptr, dtype, Shape{elements}};
}
std::unique_ptr<Collectives> dry_collectives_of(const spec::MeshSpec& spec, std::int64_t rank = 0) {
  constexpr std::array<Declared, 3> kDeclared{{{Axis::dp}, {Axis::fsdp}, {kDataAxes}}};
  return make_dry_collectives(Mesh(spec, rank), kDeclared);
}
std::unique_ptr<Collectives> dry_collectives_of(std::int64_t dp, std::int64_t fsdp, std::int64_t rank = 0) {
  return dry_collectives_of({.ici = {.dp = dp, .fsdp = fsdp}}, rank);
}

TEST(LayoutChange, ReadsAxisAndDirection) {
  constexpr LayoutChange gather("U/fsdp -> U");
  static_assert(gather.axis() == Axis::fsdp && gather.gathers());
  constexpr LayoutChange scatter("N -> N/tp");
  static_assert(scatter.axis() == Axis::tp && !scatter.gathers());
  EXPECT_EQ(gather.text(), "U/fsdp -> U");
}

TEST(SingleCollectives, GatheringFromOneRankCopies) {
  std::vector<float> shard{1, 2, 3};
  std::vector<float> full(3);
  const auto collectives = make_single_collectives();
  collectives->all_gather("U/fsdp -> U", view(full), view(shard), Lane::background).wait();
  EXPECT_EQ(full, shard);
}

TEST(SingleCollectives, ScatteringToOneRankCopies) {
  std::vector<float> full{4, 5};
  std::vector<float> shard(2);
  const auto collectives = make_single_collectives();
  collectives->reduce_scatter("U -> U/fsdp", view(shard), view(full), Lane::background).wait();
  EXPECT_EQ(shard, full);
}

TEST(SingleCollectives, MayBeGivenOneBufferAsBoth) {
  std::vector<float> values{1, 2, 3};
  const auto collectives = make_single_collectives();
  collectives->all_gather("U/fsdp -> U", view(values), view(values), Lane::background).wait();
  collectives->reduce_scatter("U -> U/dp", view(values), view(values), Lane::background).wait();
  collectives->all_reduce(kDataAxes, view(values), Lane::background).wait();
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3}));
}

TEST(SingleCollectives, CausesNoTraffic) {
  std::vector<float> values{1};
  const auto collectives = make_single_collectives();
  collectives->all_reduce(kDataAxes, view(values), Lane::background).wait();
  EXPECT_TRUE(collectives->traffic().empty());
}

// Oracle: walks a ring. Each of n ranks starts with one block of payload/n; in each of n-1 rounds it passes on one
// block.
std::int64_t bytes_passed_on_by_a_ring(std::int64_t ranks, std::int64_t payload_bytes) {
  std::int64_t sent = 0;
  for (std::int64_t round = 1; round < ranks; ++round) sent += payload_bytes / ranks;
  return sent;
}

TEST(DryCollectives, CountWhatARingWouldSend) {
  const auto collectives = dry_collectives_of(4, 8, 5);
  collectives->all_gather("U/fsdp -> U", dry(1024, DType::bf16), dry(128, DType::bf16), Lane::background).wait();
  collectives->all_gather("U/fsdp -> U", dry(2048), dry(256), Lane::background).wait();
  collectives->reduce_scatter("U -> U/fsdp", dry(128), dry(1024), Lane::background).wait();
  collectives->all_reduce(Axis::dp, dry(64), Lane::background).wait();
  collectives->all_reduce(kDataAxes, dry(32, DType::f64), Lane::background).wait();

  const auto& traffic = collectives->traffic();
  ASSERT_EQ(traffic.size(), 4U);
  EXPECT_EQ(traffic[0].axis, "fsdp");
  EXPECT_EQ(traffic[0].collective, "all_gather");
  EXPECT_EQ(traffic[0].messages, 2);
  EXPECT_EQ(traffic[0].payload_bytes, 1024 * 2 + 2048 * 4);
  EXPECT_EQ(traffic[0].sent_bytes, bytes_passed_on_by_a_ring(8, 1024 * 2) + bytes_passed_on_by_a_ring(8, 2048 * 4));
  EXPECT_EQ(traffic[1].collective, "reduce_scatter");
  EXPECT_EQ(traffic[1].sent_bytes, bytes_passed_on_by_a_ring(8, 1024 * 4));
  EXPECT_EQ(traffic[2].axis, "dp");
  EXPECT_EQ(traffic[2].collective, "all_reduce");
  EXPECT_EQ(traffic[2].payload_bytes, 64 * 4);
  EXPECT_EQ(traffic[2].sent_bytes, 2 * bytes_passed_on_by_a_ring(4, 64 * 4));
  EXPECT_EQ(traffic[3].axis, "dp+fsdp");
  EXPECT_EQ(traffic[3].sent_bytes, 2 * bytes_passed_on_by_a_ring(32, 32 * 8));
}

// 3 nodes of 4 ranks: a quarter of the bytes inside a node crosses nodes.
TEST(DryCollectives, CountTrafficAcrossNodesSeparatelyAndMinimiseIt) {
  const auto collectives = dry_collectives_of({.ici = {.fsdp = 4}, .dcn = {.fsdp = 3}}, 7);
  collectives->all_gather("U/fsdp -> U", dry(1200), dry(100), Lane::background).wait();
  collectives->reduce_scatter("U -> U/fsdp", dry(100), dry(1200), Lane::background).wait();
  collectives->all_reduce(Axis::fsdp, dry(40), Lane::background).wait();
  collectives->all_reduce(Axis::fsdp, dry(1, DType::f64), Lane::background).wait();
  const auto sent = [&](std::string_view axis, std::string_view collective) {
    std::int64_t bytes = 0;
    for (const auto& row : collectives->traffic()) {
      if (row.axis == axis && row.collective == collective) bytes += row.sent_bytes;
    }
    return bytes;
  };
  const std::int64_t inside = bytes_passed_on_by_a_ring(4, 4800);
  const std::int64_t across = bytes_passed_on_by_a_ring(3, 1200);
  EXPECT_EQ(sent("fsdp", "all_gather"), inside + bytes_passed_on_by_a_ring(4, 160));
  EXPECT_EQ(sent("dcn_fsdp", "all_gather"), across);
  EXPECT_EQ(sent("fsdp", "reduce_scatter"), inside + bytes_passed_on_by_a_ring(4, 160));
  EXPECT_EQ(sent("dcn_fsdp", "reduce_scatter"), across);
  // A quarter of 40 sums crosses nodes; a single sum cannot be divided, and goes over all ranks at once.
  EXPECT_EQ(sent("dcn_fsdp", "all_reduce"), 2 * 2 * 40 / 3);
  EXPECT_EQ(sent("fsdp", "all_reduce"), 0);
  EXPECT_EQ(sent("fsdp+dcn_fsdp", "all_reduce"), 2 * 11 * 8 / 12);
}

TEST(DryCollectives, CountTheBytesThatAnExchangeSends) {
  const auto collectives = dry_collectives_of(1, 4);
  collectives->all_to_all(Axis::fsdp, dry(40, DType::bf16), dry(40, DType::bf16), Lane::background).wait();
  ASSERT_EQ(collectives->traffic().size(), 1U);
  EXPECT_EQ(collectives->traffic()[0].collective, "all_to_all");
  EXPECT_EQ(collectives->traffic()[0].sent_bytes, 3 * 10 * 2);
  EXPECT_THROW(collectives->all_to_all(Axis::fsdp, dry(42), dry(42), Lane::background), LogicFault);
  EXPECT_THROW(collectives->all_to_all(Axis::fsdp, dry(44), dry(40), Lane::background), LogicFault);
}

TEST(DryCollectives, ForgetTheirCountsOnReset) {
  const auto collectives = dry_collectives_of(2, 1);
  collectives->all_reduce(Axis::dp, dry(64), Lane::background).wait();
  collectives->reset_traffic();
  EXPECT_TRUE(collectives->traffic().empty());
}

TEST(Collectives, RefuseBuffersThatDoNotFitTheMesh) {
  const auto collectives = dry_collectives_of(1, 4);
  EXPECT_THAT([&] { collectives->all_gather("U/fsdp -> U", dry(12), dry(4), Lane::background); },
              ThrowsMessage<LogicFault>(HasSubstr("fsdp has 4 ranks, found f32[12] f32[4]")));
  EXPECT_THROW(collectives->reduce_scatter("U -> U/fsdp", dry(4), dry(12), Lane::background), LogicFault);
}

TEST(Collectives, RefuseAxesThatWereNotDeclared) {
  constexpr std::array<Declared, 1> kFsdp{{{Axis::fsdp, Lane::background}}};
  const auto collectives = make_dry_collectives(Mesh({.ici = {.dp = 2, .fsdp = 2}}, 0), kFsdp);
  collectives->all_reduce(Axis::fsdp, dry(4), Lane::background).wait();
  collectives->all_reduce(Axis::tp, dry(4), Lane::background).wait();  // this rank is alone there
  EXPECT_THAT([&] { collectives->all_reduce(kDataAxes, dry(4), Lane::background); },
              ThrowsMessage<LogicFault>(HasSubstr("along dp+fsdp+ep in the background, which was not declared")));
  EXPECT_THAT([&] { collectives->all_reduce(Axis::fsdp, dry(4), Lane::in_line); },
              ThrowsMessage<LogicFault>(HasSubstr("along fsdp in line, which was not declared")));
}

TEST(Collectives, RefuseAChangeInTheWrongDirection) {
  const auto collectives = dry_collectives_of(1, 4);
  EXPECT_THAT([&] { collectives->all_gather("U -> U/fsdp", dry(16), dry(4), Lane::background); },
              ThrowsMessage<LogicFault>(HasSubstr("all_gather(\"U -> U/fsdp\")")));
  EXPECT_THROW(collectives->reduce_scatter("U/fsdp -> U", dry(4), dry(16), Lane::background), LogicFault);
}

// It is for few numbers, over both levels at once.
TEST(DryCollectives, AMaximumIsCountedAsAnAllReduce) {
  const auto collectives = dry_collectives_of({.ici = {.fsdp = 4}, .dcn = {.fsdp = 3}}, 7);
  collectives->all_reduce_max(Axis::fsdp, dry(40), Lane::background).wait();
  ASSERT_EQ(collectives->traffic().size(), 1U);
  EXPECT_EQ(collectives->traffic()[0].axis, "fsdp+dcn_fsdp");
  EXPECT_EQ(collectives->traffic()[0].collective, "all_reduce");
  EXPECT_EQ(collectives->traffic()[0].sent_bytes, 2 * 11 * 160 / 12);
  EXPECT_THROW(collectives->all_reduce_max(Axis::fsdp, dry(4, DType::f64), Lane::background), LogicFault);
}

TEST(Collectives, SumOnlyTypesThatHoldASum) {
  const auto collectives = dry_collectives_of(2, 2);
  EXPECT_THROW(collectives->all_reduce(Axis::dp, dry(4, DType::i32), Lane::background), LogicFault);
  EXPECT_THROW(collectives->reduce_scatter("U -> U/fsdp", dry(4, DType::i32), dry(8, DType::i32), Lane::background),
               LogicFault);
  EXPECT_THROW(collectives->all_gather("U/fsdp -> U", dry(8, DType::f32), dry(4, DType::bf16), Lane::background),
               LogicFault);
}

// A lane that runs one collective after another, 5 ns each across nodes and 7 ns inside one, on a clock that advances
// only by waiting.
class TimedLane final : public Collectives {
 public:
  explicit TimedLane(bool host_waits)
      : Collectives(Mesh({.ici = {.fsdp = 4}, .dcn = {.fsdp = 3}}, 7), kLanes), host_waits_(host_waits) {
    set_clock([this] { return now_ns; });
  }
  std::int64_t exposed_ns(std::string_view axis, std::string_view collective) const {
    for (const auto& row : traffic()) {
      if (row.axis == axis && row.collective == collective) return row.exposed_ns;
    }
    return -1;
  }
  std::int64_t now_ns = 0;

 private:
  using State = std::unique_ptr<Pending::State>;
  class Ending final : public Pending::State {
   public:
    Ending(std::int64_t& now_ns, std::int64_t at_ns) : now_ns_(now_ns), at_ns_(at_ns) {}
    void wait() override { now_ns_ = std::max(now_ns_, at_ns_); }

   private:
    std::int64_t& now_ns_;
    std::int64_t at_ns_;
  };

  bool host_waits() const override { return host_waits_; }
  State run(const Channel& channel) {
    const std::int64_t takes_ns = channel.group.dcn == AxisSet{} ? 7 : 5;
    if (channel.lane == Lane::in_line) {
      now_ns += takes_ns;
      return nullptr;
    }
    ends_ns_ = std::max(ends_ns_, now_ns) + takes_ns;
    return std::make_unique<Ending>(now_ns, ends_ns_);
  }
  State do_all_gather(const Channel& channel, TensorView, TensorView) override { return run(channel); }
  State do_reduce_scatter(const Channel& channel, TensorView, TensorView) override { return run(channel); }
  State do_all_to_all(const Channel& channel, TensorView, TensorView) override { return run(channel); }
  State do_all_reduce(const Channel& channel, TensorView) override { return run(channel); }
  State do_all_reduce_max(const Channel& channel, TensorView) override { return run(channel); }
  State do_send(Axis, Heading, TensorView) override { return nullptr; }
  State do_receive(Axis, Heading, TensorView) override { return nullptr; }
  State do_copy(TensorView, TensorView) override { return nullptr; }

  static constexpr std::array<Declared, 2> kLanes{{{Axis::fsdp, Lane::background}, {Axis::fsdp, Lane::in_line}}};
  bool host_waits_;
  std::int64_t ends_ns_ = 0;
};

TEST(ExposedTime, IsTheHostsWaitOnEachLevel) {
  TimedLane collectives(true);
  auto gathered = collectives.all_gather("U/fsdp -> U", dry(24), dry(2), Lane::background);
  collectives.now_ns += 3;  // computation
  gathered.wait();
  EXPECT_EQ(collectives.exposed_ns("dcn_fsdp", "all_gather"), 2);
  EXPECT_EQ(collectives.exposed_ns("fsdp", "all_gather"), 7);
  auto reduced = collectives.reduce_scatter("U -> U/fsdp", dry(2), dry(24), Lane::background);
  collectives.now_ns += 100;
  reduced.wait();
  EXPECT_EQ(collectives.exposed_ns("fsdp", "reduce_scatter"), 0);
  EXPECT_EQ(collectives.exposed_ns("dcn_fsdp", "reduce_scatter"), 0);
}

TEST(ExposedTime, IsTheWholeTimeOfACallInLine) {
  TimedLane collectives(true);
  collectives.all_reduce(Axis::fsdp, dry(24), Lane::in_line).wait();
  EXPECT_EQ(collectives.exposed_ns("fsdp", "reduce_scatter"), 7);
  EXPECT_EQ(collectives.exposed_ns("dcn_fsdp", "all_reduce"), 5);
  EXPECT_EQ(collectives.exposed_ns("fsdp", "all_gather"), 7);
}

TEST(ExposedTime, IsAddedUpAndResetWithTheTraffic) {
  TimedLane collectives(true);
  for (int i = 0; i < 2; ++i) collectives.all_gather("U/fsdp -> U", dry(24), dry(2), Lane::background).wait();
  EXPECT_EQ(collectives.exposed_ns("fsdp", "all_gather"), 14);
  const auto rows = collectives.traffic();
  collectives.reset_traffic();
  collectives.add_traffic(rows);
  EXPECT_EQ(collectives.exposed_ns("fsdp", "all_gather"), 14);
}

TEST(ExposedTime, IsZeroIfTheHostDoesNotWait) {
  TimedLane collectives(false);
  collectives.all_gather("U/fsdp -> U", dry(24), dry(2), Lane::background).wait();
  collectives.all_reduce(Axis::fsdp, dry(24), Lane::in_line).wait();
  for (const auto& row : collectives.traffic()) EXPECT_EQ(row.exposed_ns, 0) << row.axis << ' ' << row.collective;
}

class CountingState : public Pending::State {
 public:
  explicit CountingState(int& waits) : waits_(&waits) {}
  void wait() override { ++*waits_; }

 private:
  int* waits_;
};

TEST(Pending, IsWaitedForOnceHoweverItEnds) {
  int waits = 0;
  {
    Pending pending(std::make_unique<CountingState>(waits));
    pending.wait();
    pending.wait();
  }
  EXPECT_EQ(waits, 1);
  { Pending dropped(std::make_unique<CountingState>(waits)); }
  EXPECT_EQ(waits, 2);
  Pending first(std::make_unique<CountingState>(waits));
  first = Pending(std::make_unique<CountingState>(waits));
  EXPECT_EQ(waits, 3) << "assigning waits for what was held";
}

}  // namespace
}  // namespace perfbench::engine
