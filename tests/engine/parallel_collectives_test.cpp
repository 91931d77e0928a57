#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
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
Mesh mesh_of(std::int64_t dp, std::int64_t fsdp, std::int64_t rank = 0) {
  spec::MeshSpec spec;
  spec.ici.dp = dp;
  spec.ici.fsdp = fsdp;
  return Mesh(spec, rank);
}

TEST(LayoutChange, ReadsAxisAndDirection) {
  constexpr LayoutChange gather("U/fsdp -> U");
  static_assert(gather.axis() == MeshAxis::fsdp && gather.gathers());
  constexpr LayoutChange scatter("N -> N/tp");
  static_assert(scatter.axis() == MeshAxis::tp && !scatter.gathers());
  EXPECT_EQ(gather.text(), "U/fsdp -> U");
}

TEST(SingleCollectives, GatheringFromOneRankCopies) {
  std::vector<float> shard{1, 2, 3};
  std::vector<float> full(3);
  const auto collectives = make_single_collectives();
  collectives->all_gather("U/fsdp -> U", view(full), view(shard)).wait();
  EXPECT_EQ(full, shard);
}

TEST(SingleCollectives, ScatteringToOneRankCopies) {
  std::vector<float> full{4, 5};
  std::vector<float> shard(2);
  const auto collectives = make_single_collectives();
  collectives->reduce_scatter("U -> U/fsdp", view(shard), view(full)).wait();
  EXPECT_EQ(shard, full);
}

TEST(SingleCollectives, MayBeGivenOneBufferAsBoth) {
  std::vector<float> values{1, 2, 3};
  const auto collectives = make_single_collectives();
  collectives->all_gather("U/fsdp -> U", view(values), view(values)).wait();
  collectives->reduce_scatter("U -> U/dp", view(values), view(values)).wait();
  collectives->all_reduce(MeshAxis::data, view(values)).wait();
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3}));
}

TEST(SingleCollectives, CausesNoTraffic) {
  std::vector<float> values{1};
  const auto collectives = make_single_collectives();
  collectives->all_reduce(MeshAxis::data, view(values)).wait();
  EXPECT_TRUE(collectives->traffic().empty());
}

// Oracle: walk a ring. Each of n ranks starts with one block of payload/n; in each of n-1 rounds it passes on one
// block.
std::int64_t bytes_passed_on_by_a_ring(std::int64_t ranks, std::int64_t payload_bytes) {
  std::int64_t sent = 0;
  for (std::int64_t round = 1; round < ranks; ++round) sent += payload_bytes / ranks;
  return sent;
}

TEST(DryCollectives, CountWhatARingWouldSend) {
  const auto collectives = make_dry_collectives(mesh_of(4, 8, 5));
  collectives->all_gather("U/fsdp -> U", dry(1024, DType::bf16), dry(128, DType::bf16)).wait();
  collectives->all_gather("U/fsdp -> U", dry(2048), dry(256)).wait();
  collectives->reduce_scatter("U -> U/fsdp", dry(128), dry(1024)).wait();
  collectives->all_reduce(MeshAxis::dp, dry(64)).wait();
  collectives->all_reduce(MeshAxis::data, dry(32, DType::f64)).wait();

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
  EXPECT_EQ(traffic[3].axis, "data");
  EXPECT_EQ(traffic[3].sent_bytes, 2 * bytes_passed_on_by_a_ring(32, 32 * 8));
}

TEST(DryCollectives, ForgetTheirCountsOnReset) {
  const auto collectives = make_dry_collectives(mesh_of(2, 1));
  collectives->all_reduce(MeshAxis::dp, dry(64)).wait();
  collectives->reset_traffic();
  EXPECT_TRUE(collectives->traffic().empty());
}

TEST(Collectives, RefuseBuffersThatDoNotFitTheMesh) {
  const auto collectives = make_dry_collectives(mesh_of(1, 4));
  EXPECT_THAT([&] { collectives->all_gather("U/fsdp -> U", dry(12), dry(4)); },
              ThrowsMessage<LogicFault>(HasSubstr("fsdp has 4 ranks, found f32[12] f32[4]")));
  EXPECT_THROW(collectives->reduce_scatter("U -> U/fsdp", dry(4), dry(12)), LogicFault);
}

TEST(Collectives, RefuseAChangeInTheWrongDirection) {
  const auto collectives = make_dry_collectives(mesh_of(1, 4));
  EXPECT_THAT([&] { collectives->all_gather("U -> U/fsdp", dry(16), dry(4)); },
              ThrowsMessage<LogicFault>(HasSubstr("all_gather(\"U -> U/fsdp\")")));
  EXPECT_THROW(collectives->reduce_scatter("U/fsdp -> U", dry(4), dry(16)), LogicFault);
}

TEST(Collectives, SumOnlyTypesThatHoldASum) {
  const auto collectives = make_dry_collectives(mesh_of(2, 2));
  EXPECT_THROW(collectives->all_reduce(MeshAxis::dp, dry(4, DType::bf16)), LogicFault);
  EXPECT_THROW(collectives->all_reduce(MeshAxis::dp, dry(4, DType::i32)), LogicFault);
  EXPECT_THROW(collectives->reduce_scatter("U -> U/fsdp", dry(4, DType::bf16), dry(8, DType::bf16)), LogicFault);
  EXPECT_THROW(collectives->all_gather("U/fsdp -> U", dry(8, DType::f32), dry(4, DType::bf16)), LogicFault);
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
