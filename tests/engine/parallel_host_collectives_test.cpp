// Submissions to groups of ranks: their contents, their order, and the handling of failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <future>
#include <list>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/core/error.h"
#include "engine/parallel/host_collectives.h"
#include "engine/trace/trace_recorder.h"

namespace perfbench::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Log = std::vector<std::string>;

// Notes "what elements/name".
class NotingGroup : public RankGroup {
 public:
  NotingGroup(std::string name, Log& log) : name_(std::move(name)), log_(log) {}
  void all_gather(std::span<std::byte> full, std::span<const std::byte>) override {
    note("gather", full.size() / sizeof(float));
  }
  void all_to_all(std::span<std::byte>, std::span<const std::byte> in) override {
    note("exchange", in.size() / sizeof(float));
  }
  void reduce_scatter(std::span<float>, std::span<const float> full) override { note("scatter", full.size()); }
  void all_reduce(std::span<float> buffer) override { note("sum", buffer.size()); }
  void reduce_scatter(std::span<Bf16>, std::span<const Bf16> full) override { note("scatter", full.size()); }
  void all_reduce(std::span<Bf16> buffer) override { note("sum", buffer.size()); }
  void all_reduce(std::span<double> buffer) override { note("sum", buffer.size()); }

  const std::string& name() const { return name_; }

  std::string failing;  // the call that throws

 private:
  void note(const std::string& what, std::size_t elements) {
    log_.push_back(what + " " + std::to_string(elements) + "/" + name_);
    if (what == failing) throw std::runtime_error(what + " over " + name_ + " fails");
  }

  std::string name_;
  Log& log_;
};

// Three nodes of two ranks.
class HostCollectivesOverTwoLevels : public testing::Test {
 protected:
  HostCollectivesOverTwoLevels()
      : collectives_(make_host_collectives(
            Mesh({.ici = {.fsdp = 2}, .dcn = {.fsdp = 3}}, 1), kDeclared,
            [this](const Channel& channel) { return &groups_.emplace_back(name_of(channel), log_); }, &thread_,
            nullptr)) {}
  NotingGroup& group(const std::string& name) {
    return *std::find_if(groups_.begin(), groups_.end(), [&](const auto& g) { return g.name() == name; });
  }
  TensorView floats(std::int64_t elements) { return {values_.data(), DType::f32, Shape{elements}}; }
  Pending gather() { return collectives_->all_gather("U/fsdp -> U", floats(24), floats(4), Lane::background); }
  Pending reduce() { return collectives_->reduce_scatter("U -> U/fsdp", floats(4), floats(24), Lane::background); }
  Pending sum() { return collectives_->all_reduce(Axis::fsdp, floats(24), Lane::background); }

  static std::string name_of(const Channel& channel) {
    return channel.group.name() + (channel.lane == Lane::in_line ? " in line" : "");
  }

  static constexpr std::array<Declared, 2> kDeclared{{{Axis::fsdp, Lane::background}, {Axis::fsdp, Lane::in_line}}};
  std::array<float, 24> values_{};
  Log log_;
  std::list<NotingGroup> groups_;
  CommunicationThread thread_;
  std::unique_ptr<Collectives> collectives_;
};

TEST_F(HostCollectivesOverTwoLevels, GatherAcrossNodesFirst) {
  gather().wait();
  EXPECT_THAT(log_, ElementsAre("gather 12/dcn_fsdp", "gather 24/fsdp"));
}

TEST_F(HostCollectivesOverTwoLevels, ReduceInsideTheNodeFirst) {
  reduce().wait();
  EXPECT_THAT(log_, ElementsAre("scatter 24/fsdp", "scatter 12/dcn_fsdp"));
}

TEST_F(HostCollectivesOverTwoLevels, SumAPartOfTheNodeAcrossNodes) {
  sum().wait();
  EXPECT_THAT(log_, ElementsAre("scatter 24/fsdp", "sum 12/dcn_fsdp", "gather 24/fsdp"));
}

TEST_F(HostCollectivesOverTwoLevels, SumIndivisibleBuffersOverAllRanksAtOnce) {
  collectives_->all_reduce(Axis::fsdp, floats(23), Lane::background).wait();
  EXPECT_THAT(log_, ElementsAre("sum 23/fsdp+dcn_fsdp"));
}

TEST_F(HostCollectivesOverTwoLevels, ExchangeAmongAllRanksAtOnce) {
  std::array<float, 24> out{};
  const TensorView out_view{out.data(), DType::f32, Shape{24}};
  collectives_->all_to_all(Axis::fsdp, out_view, floats(24), Lane::background).wait();
  EXPECT_THAT(log_, ElementsAre("exchange 24/fsdp+dcn_fsdp"));
}

TEST_F(HostCollectivesOverTwoLevels, HaveEndedWhenTheyAreDroppedUnwaited) {
  { const Pending dropped = sum(); }
  EXPECT_THAT(log_, ElementsAre("scatter 24/fsdp", "sum 12/dcn_fsdp", "gather 24/fsdp"));
}

// Ranks that are no longer in step stop communicating, and every waiting caller gets the reason.
TEST_F(HostCollectivesOverTwoLevels, EndAtAFailingPart) {
  group("dcn_fsdp").failing = "sum";
  Pending failed = sum();
  Pending later = gather();
  EXPECT_THROW(failed.wait(), std::runtime_error);
  EXPECT_THROW(later.wait(), std::runtime_error);
  EXPECT_THAT(log_, ElementsAre("scatter 24/fsdp", "sum 12/dcn_fsdp"));
}

// They use separate groups, run in the caller's thread, and come before work waiting in the background.
TEST_F(HostCollectivesOverTwoLevels, InLineHaveEndedWhenTheyReturn) {
  std::promise<void> busy;
  thread_.submit([until = busy.get_future().share()] { until.wait(); });
  Pending background = gather();
  const Pending in_line = collectives_->all_reduce(Axis::fsdp, floats(24), Lane::in_line);
  EXPECT_THAT(log_, ElementsAre("scatter 24/fsdp in line", "sum 12/dcn_fsdp in line", "gather 24/fsdp in line"));
  busy.set_value();
  background.wait();
  EXPECT_EQ(log_.size(), 5U);
}

TEST_F(HostCollectivesOverTwoLevels, InLineThrowAtOnce) {
  group("fsdp in line").failing = "scatter";
  EXPECT_THROW(collectives_->reduce_scatter("U -> U/fsdp", floats(4), floats(24), Lane::in_line), std::runtime_error);
  gather().wait();
}

TEST_F(HostCollectivesOverTwoLevels, InLineAreTracedWithinTheirSubmission) {
  TraceRecorder recorder({8, 8});
  collectives_->set_trace(&recorder);
  collectives_->all_reduce(Axis::fsdp, floats(1), Lane::in_line).wait();
  const auto events = recorder.take(0, 0);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, spec::TraceKind::submit);
  EXPECT_EQ(events[1].kind, spec::TraceKind::collective);
  EXPECT_EQ(events[0].lane, events[1].lane);
  EXPECT_EQ(events[0].correlation, events[1].correlation);
  EXPECT_LE(events[0].start_ns, events[1].start_ns);
  EXPECT_GE(events[0].end_ns, events[1].end_ns);
}

TEST_F(HostCollectivesOverTwoLevels, AreTracedPartByPart) {
  TraceRecorder recorder({8, 8});
  collectives_->set_trace(&recorder);
  gather().wait();
  std::vector<std::string> handed_over;
  std::vector<std::string> ran;
  for (const auto& event : recorder.take(0, 0)) {
    (event.kind == spec::TraceKind::submit ? handed_over : ran)
        .push_back(event.axis + " " + std::to_string(event.bytes) + " #" + std::to_string(event.correlation));
  }
  EXPECT_THAT(handed_over, ElementsAre("dcn_fsdp 48 #1", "fsdp 96 #2"));
  EXPECT_EQ(ran, handed_over);
}

// Notes the sender, the receiver and the size of each message.
class NotingMessages : public Messages {
 public:
  std::unique_ptr<Pending::State> send(std::int64_t to, int tag, std::span<const std::byte> bytes) override {
    return note("send", to, tag, bytes.size());
  }
  std::unique_ptr<Pending::State> receive(std::int64_t from, int tag, std::span<std::byte> bytes) override {
    return note("receive", from, tag, bytes.size());
  }
  Log log;
  std::set<int> tags;

 private:
  std::unique_ptr<Pending::State> note(const std::string& what, std::int64_t peer, int tag, std::size_t bytes) {
    log.push_back(what + " " + std::to_string(bytes) + "/" + std::to_string(peer));
    tags.insert(tag);
    return nullptr;
  }
};

constexpr std::array<Declared, 1> kRing{{{Axis::pp, Lane::messages}}};

// Two nodes of two stages with two ranks each: rank 2 is in the second stage of the first node, rank 4 in the third
// stage.
TEST(HostMessages, GoAroundTheAxisStagesOfANodeAfterEachOther) {
  NotingMessages messages;
  const auto collectives =
      make_host_collectives(Mesh({.ici = {.fsdp = 2, .pp = 2}, .dcn = {.pp = 2}}, 2), kRing, {}, nullptr, &messages);
  std::array<float, 3> values{};
  const TensorView view{values.data(), DType::f32, Shape{3}};
  collectives->send(Axis::pp, Heading::onward, view).wait();
  collectives->send(Axis::pp, Heading::back, view).wait();
  collectives->receive(Axis::pp, Heading::onward, view).wait();
  collectives->receive(Axis::pp, Heading::back, view).wait();
  EXPECT_THAT(messages.log, ElementsAre("send 12/4", "send 12/0", "receive 12/0", "receive 12/4"));
  EXPECT_EQ(messages.tags.size(), 2U);
  std::vector<std::string> sent;
  for (const auto& t : collectives->traffic()) {
    sent.push_back(t.axis + " " + t.collective + " " + std::to_string(t.payload_bytes) + " " +
                   std::to_string(t.sent_bytes));
  }
  EXPECT_THAT(sent, ElementsAre("dcn_pp send 12 12", "pp send 12 12", "pp receive 12 0", "dcn_pp receive 12 0"));
  TraceRecorder recorder({8, 8});
  collectives->set_trace(&recorder);
  collectives->send(Axis::pp, Heading::onward, view).wait();
  collectives->receive(Axis::pp, Heading::back, view).wait();
  std::vector<std::string> headings;
  for (const auto& event : recorder.take(2, 0)) headings.push_back(event.name + " " + event.heading);
  EXPECT_THAT(headings, ElementsAre("send onward", "send onward", "receive back", "receive back"));
}

TEST(HostMessages, NeedADeclaredAxis) {
  NotingMessages messages;
  std::array<float, 3> values{};
  const TensorView view{values.data(), DType::f32, Shape{3}};
  const auto alone = make_host_collectives(Mesh({}, 0), kRing, {}, nullptr, &messages);
  EXPECT_THROW(alone->send(Axis::pp, Heading::onward, view), LogicFault);
  const auto undeclared = make_host_collectives(Mesh({.ici = {.pp = 2}}, 0), {}, {}, nullptr, &messages);
  EXPECT_THROW(undeclared->receive(Axis::pp, Heading::onward, view), LogicFault);
  EXPECT_THAT(messages.log, IsEmpty());
}

}  // namespace
}  // namespace perfbench::engine
