// Collectives between GPUs, as far as it concerns hanging: which rank makes ids, which thread makes which calls, and
// how long they wait for other ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <map>
#include <optional>
#include <vector>

#include "engine/core/error.h"
#include "engine/ops/cuda/host/recordings.h"
#include "engine/parallel/cuda/nccl_collectives.h"
#include "tests/engine/fake_cuda/fake_cuda.h"
#include "tests/engine/one_of_several_ranks.h"

namespace perfbench::engine {
namespace {

using namespace std::chrono_literals;
using fake_cuda::calls;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

constexpr std::array<Declared, 2> kDeclared{{{Axis::fsdp}, {kDataAxes}}};
constexpr std::array<Declared, 2> kBothLanes{{{Axis::fsdp, Lane::background}, {Axis::fsdp, Lane::in_line}}};

class NcclCollectivesTest : public testing::Test {
 protected:
  void SetUp() override {
    begin();
    device_.emplace(2);
  }
  static void begin() {
    fake_cuda::begin();
    fake_cuda::answers().devices = 4;
  }
  std::unique_ptr<Collectives> make(std::int64_t rank, const NcclOptions& options) {
    processes_.emplace(rank);
    return make_nccl_collectives(Mesh({.ici = {.fsdp = 2}}, rank), kDeclared, *device_, *processes_, options);
  }
  std::unique_ptr<Collectives> make() { return make(0, {.timeout = 1h, .period = 1ms}); }
  Pending reduce(Collectives& collectives) {
    return collectives.all_reduce(Axis::fsdp, {values_.data(), DType::f32, Shape{4}}, Lane::background);
  }

  std::optional<CudaDevice> device_;
  std::optional<OneOfSeveralRanks> processes_;
  std::array<float, 4> values_{};
};

// Only fsdp has two ranks among the data axes, so their group is that of fsdp.
TEST_F(NcclCollectivesTest, UseTheIdThatTheFirstRankOfTheGroupMade) {
  make(0, {});
  EXPECT_EQ(calls({"ncclGetUniqueId"}).size(), 1U);
  const auto first = calls({"ncclCommInitRankConfig"});
  begin();
  make(1, {});
  EXPECT_THAT(calls({"ncclGetUniqueId"}), IsEmpty());
  const auto second = calls({"ncclCommInitRankConfig"});
  ASSERT_EQ(first.size(), 1U);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(first[0].value, 7);  // the fake's ids
  EXPECT_EQ(second[0].value, OneOfSeveralRanks::kIdOfOthers);
}

// Three nodes of two ranks.
class NcclOverTwoLevels : public NcclCollectivesTest {
 protected:
  void SetUp() override {
    NcclCollectivesTest::SetUp();
    processes_.emplace(1, 6);
    const Mesh mesh({.ici = {.fsdp = 2}, .dcn = {.fsdp = 3}}, 1);
    collectives_ = make_nccl_collectives(mesh, kDeclared, *device_, *processes_, {.timeout = 1h, .period = 1h});
  }
  TensorView floats(std::int64_t elements) { return {values_.data(), DType::f32, Shape{elements}}; }
  // "what elements/ranks" for each collective since the last call.
  std::vector<std::string> asked() {
    std::vector<std::string> out;
    for (const auto& call : calls({"ncclReduceScatter", "ncclAllReduce", "ncclAllGather"})) {
      out.push_back(call.name.substr(4) + " " + std::to_string(call.value) + "/" + std::to_string(call.ranks));
    }
    out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(known_));
    known_ += out.size();
    return out;
  }

  std::array<float, 24> values_{};
  std::unique_ptr<Collectives> collectives_;

 private:
  std::size_t known_ = 0;
};

TEST_F(NcclOverTwoLevels, HaveACommunicatorOnEachAndOneOverBoth) {
  EXPECT_EQ(calls({"ncclCommInitRankConfig"}).size(), 3U);
}

TEST_F(NcclOverTwoLevels, CollectOnOneAfterTheOther) {
  collectives_->all_gather("U/fsdp -> U", floats(24), floats(4), Lane::background).wait();
  EXPECT_THAT(asked(), ElementsAre("AllGather 4/3", "AllGather 12/2"));
  collectives_->reduce_scatter("U -> U/fsdp", floats(4), floats(24), Lane::background).wait();
  EXPECT_THAT(asked(), ElementsAre("ReduceScatter 12/2", "ReduceScatter 4/3"));
  collectives_->all_reduce(Axis::fsdp, floats(24), Lane::background).wait();
  EXPECT_THAT(asked(), ElementsAre("ReduceScatter 12/2", "AllReduce 12/3", "AllGather 12/2"));
}

TEST_F(NcclOverTwoLevels, SumIndivisibleBuffersOverAllRanksAtOnce) {
  collectives_->all_reduce(Axis::fsdp, floats(23), Lane::background).wait();
  collectives_->all_reduce(Axis::fsdp, {values_.data(), DType::f64, Shape{2}}, Lane::background).wait();
  EXPECT_THAT(asked(), ElementsAre("AllReduce 23/6", "AllReduce 2/6"));
}

// With every rank, including itself, in one group of calls: one after the other they would wait for each other.
TEST_F(NcclOverTwoLevels, ExchangeInOneGroupOfCalls) {
  std::array<float, 24> out{};
  const TensorView out_view{out.data(), DType::f32, Shape{24}};
  collectives_->all_to_all(Axis::fsdp, out_view, floats(24), Lane::background).wait();
  const auto exchanged = calls({"ncclGroupStart", "ncclSend", "ncclRecv", "ncclGroupEnd"});
  ASSERT_EQ(exchanged.size(), 14U);
  EXPECT_EQ(exchanged.front().name, "ncclGroupStart");
  EXPECT_EQ(exchanged.back().name, "ncclGroupEnd");
  for (std::size_t i = 1; i + 1 < exchanged.size(); ++i) {
    EXPECT_EQ(exchanged[i].value, 16);  // bytes
    EXPECT_EQ(exchanged[i].ranks, 6);
  }
}

TEST_F(NcclOverTwoLevels, AreRecordedWithBothCommunicators) {
  cuda::GraphRecorder recorder(device_->compute());
  recorder.begin();
  collectives_->all_gather("U/fsdp -> U", floats(24), floats(4), Lane::background).wait();
  const auto recording = recorder.end(nullptr);
  EXPECT_THAT(asked(), ElementsAre("AllGather 4/3", "AllGather 12/2"));
  collectives_.reset();
  std::vector<std::int64_t> held_by;
  for (const auto& call : calls({"ncclCommAbort"})) held_by.push_back(call.value);
  EXPECT_THAT(held_by, testing::UnorderedElementsAre(1, 1, 0));
}

TEST_F(NcclCollectivesTest, RunOnTheStreamOfTheirLaneWithACommunicatorOfItsOwn) {
  processes_.emplace(0);
  const auto collectives =
      make_nccl_collectives(Mesh({.ici = {.fsdp = 2}}, 0), kBothLanes, *device_, *processes_, {.period = 1h});
  EXPECT_EQ(calls({"ncclCommInitRankConfig"}).size(), 2U);
  const TensorView values{values_.data(), DType::f32, Shape{4}};
  for (const auto lane : {Lane::background, Lane::in_line}) collectives->all_reduce(Axis::fsdp, values, lane).wait();
  const auto sums = calls({"ncclAllReduce"});
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].stream, device_->communication());
  EXPECT_EQ(sums[1].stream, device_->compute());
}

// Messages of each direction, in and out, pass those of the others.
TEST_F(NcclCollectivesTest, GiveMessagesOfEachDirectionAStreamAndACommunicator) {
  constexpr std::array<Declared, 1> kRing{{{Axis::pp, Lane::messages}}};
  for (const std::int64_t stages : {2, 3, 4}) {
    begin();
    processes_.emplace(1, stages);
    const auto collectives =
        make_nccl_collectives(Mesh({.ici = {.pp = stages}}, 1), kRing, *device_, *processes_, {.period = 1h});
    EXPECT_EQ(calls({"ncclCommInitRankConfig"}).size(), 4U);
    EXPECT_EQ(calls({"ncclGetUniqueId"}).size(), 2U);  // for the two channels by which it sends
    const TensorView values{values_.data(), DType::f32, Shape{4}};
    for (const auto heading : {Heading::onward, Heading::back}) {
      collectives->send(Axis::pp, heading, values).wait();
      collectives->receive(Axis::pp, heading, values).wait();
    }
    std::map<const void*, std::vector<std::int64_t>> bytes;
    for (const auto& call : calls({"ncclSend", "ncclRecv"})) {
      EXPECT_EQ(call.ranks, 2);
      bytes[call.stream].push_back(call.value);
    }
    // Connected by a first message, before any message of a step.
    EXPECT_THAT(bytes, testing::Each(testing::Pair(testing::_, ElementsAre(1, 16))));
    for (const void* const own : {device_->compute(), device_->communication(), device_->copies()}) {
      EXPECT_FALSE(bytes.contains(own));
    }
    EXPECT_EQ(bytes.size(), 4U);
  }
}

// An error of the device does not mean that the message has ended.
TEST_F(NcclCollectivesTest, ReportTheDevicesErrorOfAFirstMessage) {
  constexpr std::array<Declared, 1> kRing{{{Axis::pp, Lane::messages}}};
  processes_.emplace(1, 2);
  fake_cuda::answers().kernels_fail = true;
  EXPECT_THAT(
      [&] { make_nccl_collectives(Mesh({.ici = {.pp = 2}}, 1), kRing, *device_, *processes_, {.timeout = 1h}); },
      ThrowsMessage<EngineError>(HasSubstr("the first message failed")));
}

TEST_F(NcclCollectivesTest, AreWatchedOnTheirOwnDevice) {
  auto collectives = make();
  for (std::size_t asked = 1; asked <= 2; ++asked) {
    reduce(*collectives).wait();
    fake_cuda::wait_for_others("cudaEventQuery", asked);
  }
  collectives.reset();
  for (const auto& call : calls({"cudaEventQuery", "cudaEventDestroy", "cudaEventCreateWithFlags"})) {
    EXPECT_EQ(call.device, 2) << call.name;
  }
}

TEST_F(NcclCollectivesTest, AskNcclFromOneThreadAtATime) {
  auto collectives = make();
  fake_cuda::answers().events_end = false;  // so that each look of the watchdog is one query
  std::atomic<bool> looked = false;
  auto looks = std::async(std::launch::async, [&] {
    fake_cuda::wait_for_others("cudaEventQuery", 20);
    looked = true;
  });
  while (!looked) reduce(*collectives).wait();
  EXPECT_EQ(fake_cuda::overlapping_calls(), 0);
}

TEST_F(NcclCollectivesTest, WaitUntilTheyAreSubmitted) {
  fake_cuda::answers().questions_in_progress = 5;
  auto collectives = make(0, {.timeout = 1h, .period = 1h});
  const auto questions = calls({"ncclCommGetAsyncError"}).size();
  EXPECT_EQ(questions, 5U + 1U);
  fake_cuda::answers().questions_in_progress = 5;
  reduce(*collectives).wait();
  EXPECT_EQ(calls({"ncclCommGetAsyncError"}).size(), questions + 6);
}

TEST_F(NcclCollectivesTest, GiveUpOnRanksThatDoNotJoin) {
  fake_cuda::answers().questions_in_progress = 1'000'000'000;
  EXPECT_THAT([&] { make(0, {.timeout = 0ms, .period = 1h}); },
              ThrowsMessage<EngineError>(
                  AllOf(HasSubstr("ncclCommInitRankConfig has not ended after"), HasSubstr("another rank died"))));
  EXPECT_EQ(calls({"ncclCommAbort"}).size(), 1U);  // its threads wait for those ranks too
}

TEST_F(NcclCollectivesTest, GiveUpOnACallThatIsNotSubmitted) {
  auto collectives = make(0, {.timeout = 0ms, .period = 1h});
  fake_cuda::answers().questions_in_progress = 1'000'000'000;
  EXPECT_THAT([&] { reduce(*collectives); },
              ThrowsMessage<EngineError>(HasSubstr("all_reduce over fsdp, 16 bytes, has not ended after")));
}

TEST_F(NcclCollectivesTest, AreDestroyedOnAllRanksTogether) {
  auto collectives = make();
  std::vector<std::size_t> gone_when_meeting;
  processes_->on_gather = [&] { gone_when_meeting.push_back(calls({"ncclCommAbort"}).size()); };
  collectives.reset();
  EXPECT_THAT(gone_when_meeting, ElementsAre(0U));
  EXPECT_EQ(calls({"ncclCommAbort"}).size(), 1U);
}

TEST_F(NcclCollectivesTest, DoNotWaitForOthersAfterAnError) {
  auto collectives = make();
  processes_->on_gather = [] { ADD_FAILURE() << "the other ranks do not come"; };
  try {
    const auto last_owner = std::move(collectives);
    throw OutOfMemory("in the middle of a step");
  } catch (const OutOfMemory&) {
    EXPECT_EQ(calls({"ncclCommAbort"}).size(), 1U);
  }
}

using NcclCollectivesDeathTest = NcclCollectivesTest;

TEST_F(NcclCollectivesDeathTest, AHangingReplayEndsAllRanks) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        auto collectives = make(0, {.timeout = 0ms, .period = 1ms});
        cuda::GraphRecorder recorder(device_->compute());
        recorder.begin();
        reduce(*collectives).wait();
        const auto recording = recorder.end(nullptr);
        fake_cuda::answers().events_end = false;
        collectives->watch_replay();
        std::promise<void>().get_future().wait();
      },
      testing::ExitedWithCode(static_cast<int>(EngineExit::failed)),
      "rank 0: a replayed recording of collectives has not ended after");
}

TEST_F(NcclCollectivesTest, RecordedOnesAreNotQueried) {
  auto collectives = make(0, {.timeout = 1h, .period = 1h});
  cuda::GraphRecorder recorder(device_->compute());
  recorder.begin();
  reduce(*collectives).wait();
  const auto recording = recorder.end(nullptr);
  // One event orders the streams before a collective and one after it: destroying them does not wait for the watchdog.
  EXPECT_EQ(calls({"cudaEventDestroy"}).size(), 2U);
}

}  // namespace
}  // namespace perfbench::engine
