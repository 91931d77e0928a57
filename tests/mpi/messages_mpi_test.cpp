// Messages between neighbours: what arrives, in which order, and that nothing waits for ever.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/mpi/mpi_world.h"

namespace perfbench::engine {
namespace {

constexpr std::array<Declared, 2> kRingAndSums{{{Axis::pp, Lane::messages}, {Axis::dp, Lane::in_line}}};

std::unique_ptr<Collectives> messengers_of(const spec::MeshSpec& mesh) {
  return world().make_collectives(Mesh(mesh, world().rank()), kRingAndSums);
}

// Eager messages, and ones that MPI moves only when both sides call it; the largest is more than one part by messages.
constexpr std::array<std::int64_t, 3> kMessageSizes{3, 20'000, 1'000'000};

TensorView message_view(std::vector<std::int32_t>& values) {
  return {values.data(), DType::i32, Shape{static_cast<std::int64_t>(values.size())}};
}
std::vector<std::int32_t> values_of(std::int64_t rank, std::int64_t number, std::int64_t size) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) {
    out[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(rank * 1'000 + number * 100 + i % 97);
  }
  return out;
}

// All ranks send before any receives, several messages in each direction, and receive the directions in the opposite
// order.
TEST(MpiMessages, PassEachOtherAndKeepTheirOrder) {
  const auto n = world().size();
  if (n == 1) GTEST_SKIP() << "needs two ranks";
  const auto collectives = messengers_of({.ici = {.pp = n}});
  const auto rank = world().rank();
  constexpr std::int64_t kEach = 3;
  for (const auto size : kMessageSizes) {
    std::vector<std::vector<std::int32_t>> buffers;
    std::vector<Pending> sent;
    buffers.reserve(2 * kEach);
    for (std::int64_t k = 0; k < kEach; ++k) {
      for (const auto heading : {Heading::onward, Heading::back}) {
        auto& values = buffers.emplace_back(values_of(rank, 2 * k + static_cast<std::int64_t>(heading), size));
        sent.push_back(collectives->send(Axis::pp, heading, message_view(values)));
      }
    }
    for (const auto heading : {Heading::back, Heading::onward}) {
      const auto from = heading == Heading::onward ? (rank + n - 1) % n : (rank + 1) % n;
      for (std::int64_t k = 0; k < kEach; ++k) {
        std::vector<std::int32_t> received(static_cast<std::size_t>(size));
        collectives->receive(Axis::pp, heading, message_view(received)).wait();
        ASSERT_EQ(received, values_of(from, 2 * k + static_cast<std::int64_t>(heading), size));
      }
    }
  }
}

// A circle of waiting ranks: each rank of the first stage sleeps in a sum until the other rank has come. That one waits
// for a message from a rank that sleeps in a sum with the receiver of the first rank's message. The circle opens if the
// first message is moved meanwhile.
TEST(MpiMessages, AreMovedWhileTheirSenderSleeps) {
  if (world().size() != 4) GTEST_SKIP() << "needs four ranks";
  const auto collectives = messengers_of({.ici = {.dp = 2, .pp = 2}});
  const Mesh mesh({.ici = {.dp = 2, .pp = 2}}, world().rank());
  const bool first_stage = mesh.place(Axis::pp) == 0;
  const bool first_replica = mesh.index(Axis::dp) == 0;
  auto out = values_of(world().rank(), 0, 1'000'000);
  std::vector<std::int32_t> in(out.size());
  std::array<float, 1> one{1};
  const TensorView sum{one.data(), DType::f32, Shape{1}};
  Pending sent;
  if (first_stage == first_replica) sent = collectives->send(Axis::pp, Heading::onward, message_view(out));
  if (first_stage != first_replica) collectives->receive(Axis::pp, Heading::onward, message_view(in)).wait();
  collectives->all_reduce(Axis::dp, sum, Lane::in_line).wait();
  sent.wait();
  EXPECT_EQ(one[0], 2);
  if (first_stage != first_replica) {
    EXPECT_EQ(in, values_of(mesh.neighbour(Axis::pp, Heading::back), 0, 1'000'000));
  }
}

}  // namespace
}  // namespace perfbench::engine
