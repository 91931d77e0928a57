// Every stage's list, executed against those of its neighbours: nothing waits for ever, and every message is received.
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "engine/core/error.h"
#include "engine/train/pipeline_schedule.h"

namespace perfbench::engine {
namespace {

using Kind = PipelineAction::Kind;

// All shapes up to 8 stages and 16 microbatches, with up to 3 chunks a stage.
std::vector<PipelineShape> shapes() {
  std::vector<PipelineShape> out;
  for (std::int64_t stages = 1; stages <= 8; ++stages) {
    for (std::int64_t chunks = 1; chunks <= 3; ++chunks) {
      for (std::int64_t microbatches = 1; microbatches <= 16; ++microbatches) {
        if (chunks == 1 || microbatches % stages == 0) out.push_back({stages, chunks, microbatches});
      }
    }
  }
  return out;
}

std::string words(const PipelineShape& s) {
  return std::to_string(s.stages) + " stages of " + std::to_string(s.chunks_per_stage) + " chunks, " +
         std::to_string(s.microbatches) + " microbatches";
}

struct Message {
  std::int64_t chunk;
  std::int64_t microbatch;
  bool operator==(const Message&) const = default;
};
// From a stage to the next one (outputs) or to the previous one (gradients).
struct Link {
  std::int64_t from;
  Kind kind;
  auto operator<=>(const Link&) const = default;
};

Link link_of(const PipelineShape& shape, const PipelineAction& a) {
  const bool sends = a.kind == Kind::send_output || a.kind == Kind::send_gradient;
  if (sends) return {shape.stage_of(a.chunk), a.kind};
  const bool forward = a.kind == Kind::forward;
  return {shape.stage_of(forward ? a.chunk - 1 : a.chunk + 1), forward ? Kind::send_output : Kind::send_gradient};
}

bool receives(const PipelineShape& shape, const PipelineAction& a) {
  return (a.kind == Kind::forward && a.chunk > 0) || (a.kind == Kind::backward && a.chunk + 1 < shape.chunks());
}

TEST(PipelineSchedule, ComputesEveryChunkOfEveryMicrobatchOnceForwardThenBackward) {
  for (const auto& shape : shapes()) {
    SCOPED_TRACE(words(shape));
    std::set<std::pair<std::int64_t, std::int64_t>> forward;
    std::set<std::pair<std::int64_t, std::int64_t>> backward;
    for (std::int64_t stage = 0; stage < shape.stages; ++stage) {
      for (const auto& a : pipeline_actions(shape, stage)) {
        ASSERT_EQ(shape.stage_of(a.chunk), stage);
        const std::pair at{a.chunk, a.microbatch};
        if (a.kind == Kind::forward) {
          ASSERT_TRUE(forward.insert(at).second);
        }
        if (a.kind == Kind::backward) {
          ASSERT_TRUE(forward.contains(at));
          ASSERT_TRUE(backward.insert(at).second);
        }
      }
    }
    const auto all = static_cast<std::size_t>(shape.chunks() * shape.microbatches);
    EXPECT_EQ(forward.size(), all);
    EXPECT_EQ(backward.size(), all);
  }
}

// There is a message for each computation that needs one; receiving begins one computation before it is waited for.
TEST(PipelineSchedule, BeginsToReceiveOneComputationAhead) {
  for (const auto& shape : shapes()) {
    SCOPED_TRACE(words(shape));
    for (std::int64_t stage = 0; stage < shape.stages; ++stage) {
      std::map<std::tuple<Kind, std::int64_t, std::int64_t>, std::int64_t> begun;  // by how many computations
      std::int64_t computations = 0;
      for (const auto& a : pipeline_actions(shape, stage)) {
        if (a.kind == Kind::begin_receive_input || a.kind == Kind::begin_receive_gradient) {
          const Kind waits = a.kind == Kind::begin_receive_input ? Kind::forward : Kind::backward;
          ASSERT_TRUE(begun.emplace(std::tuple{waits, a.chunk, a.microbatch}, computations).second);
        }
        if (a.kind != Kind::forward && a.kind != Kind::backward) continue;
        if (receives(shape, a)) {
          const auto found = begun.find({a.kind, a.chunk, a.microbatch});
          ASSERT_NE(found, begun.end());
          ASSERT_EQ(computations - found->second, computations == 0 ? 0 : 1);
          begun.erase(found);
        }
        ++computations;
      }
      EXPECT_TRUE(begun.empty());
    }
  }
}

// A stage runs until it waits. Returns whether it advanced.
class Stage {
 public:
  Stage(const PipelineShape& shape, std::int64_t stage) : shape_(shape), actions_(pipeline_actions(shape, stage)) {}

  bool advance(std::map<Link, std::deque<Message>>& links, std::size_t capacity) {
    const std::size_t before = next_;
    for (; next_ < actions_.size(); ++next_) {
      const auto& a = actions_[next_];
      if (a.kind == Kind::send_output || a.kind == Kind::send_gradient) {
        auto& queue = links[link_of(shape_, a)];
        if (queue.size() == capacity) break;
        queue.push_back({a.chunk, a.microbatch});
      } else if (receives(shape_, a)) {
        auto& queue = links[link_of(shape_, a)];
        if (queue.empty()) break;
        const std::int64_t sender = a.kind == Kind::forward ? a.chunk - 1 : a.chunk + 1;
        EXPECT_EQ(queue.front(), (Message{sender, a.microbatch})) << "out of order";
        queue.pop_front();
      }
    }
    return next_ > before;
  }
  bool ended() const { return next_ == actions_.size(); }

 private:
  PipelineShape shape_;
  std::vector<PipelineAction> actions_;
  std::size_t next_ = 0;
};

// Links that hold one message: the least that lets crossing messages pass each other.
TEST(PipelineSchedule, EndsIfLinksHoldOneMessage) {
  for (const auto& shape : shapes()) {
    SCOPED_TRACE(words(shape));
    std::vector<Stage> stages;
    for (std::int64_t stage = 0; stage < shape.stages; ++stage) stages.emplace_back(shape, stage);
    std::map<Link, std::deque<Message>> links;
    bool went_on = true;
    while (went_on) {
      went_on = false;
      for (auto& stage : stages) went_on = stage.advance(links, 1) || went_on;
    }
    for (const auto& stage : stages) ASSERT_TRUE(stage.ended()) << "stages wait for one another";
    for (const auto& [link, queue] : links) EXPECT_TRUE(queue.empty());
  }
}

// A link between two threads.
class Queue {
 public:
  void push(Message message) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !held_; });
    held_ = message;
    changed_.notify_all();
  }
  Message pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return held_.has_value(); });
    const Message message = *held_;
    held_.reset();
    changed_.notify_all();
    return message;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Message> held_;
};

TEST(PipelineSchedule, EndsOnThreads) {
  for (const PipelineShape shape : {PipelineShape{2, 1, 3}, {4, 1, 8}, {8, 1, 16}, {2, 3, 4}, {8, 2, 16}}) {
    SCOPED_TRACE(words(shape));
    std::map<Link, Queue> links;
    for (std::int64_t stage = 0; stage < shape.stages; ++stage) {
      links[{stage, Kind::send_output}];
      links[{stage, Kind::send_gradient}];
    }
    std::vector<std::thread> threads;
    for (std::int64_t stage = 0; stage < shape.stages; ++stage) {
      threads.emplace_back([&, stage] {
        for (const auto& a : pipeline_actions(shape, stage)) {
          if (a.kind == Kind::send_output || a.kind == Kind::send_gradient) {
            links.at(link_of(shape, a)).push({a.chunk, a.microbatch});
          } else if (receives(shape, a)) {
            EXPECT_EQ(links.at(link_of(shape, a)).pop().microbatch, a.microbatch);
          }
        }
      });
    }
    for (auto& thread : threads) thread.join();
  }
}

// The purpose of such a pipeline is how little a stage holds at once: at most as many microbatches as there are stages.
TEST(PipelineSchedule, HoldsAtMostAsManyMicrobatchesAsStagesFollow) {
  for (const auto& shape : shapes()) {
    if (shape.chunks_per_stage > 1) continue;
    for (std::int64_t stage = 0; stage < shape.stages; ++stage) {
      std::int64_t held = 0;
      std::int64_t most = 0;
      for (const auto& a : pipeline_actions(shape, stage)) {
        if (a.kind == Kind::forward) ++held;
        most = std::max(most, held);
        if (a.kind == Kind::backward) --held;
      }
      EXPECT_EQ(most, std::min(shape.stages - stage, shape.microbatches)) << words(shape) << " stage " << stage;
    }
  }
}

TEST(PipelineSchedule, WithoutAPipelineMicrobatchesFollowEachOther) {
  const std::vector<PipelineAction> expected{
      {Kind::forward, 0, 0}, {Kind::backward, 0, 0}, {Kind::forward, 0, 1}, {Kind::backward, 0, 1}};
  EXPECT_EQ(pipeline_actions({.microbatches = 2}, 0), expected);
}

TEST(PipelineSchedule, RefusesImpossibleShapes) {
  EXPECT_THROW(pipeline_actions({.stages = 4, .chunks_per_stage = 2, .microbatches = 6}, 0), LogicFault);
  EXPECT_THROW(pipeline_actions({.stages = 4, .microbatches = 6}, 4), LogicFault);
  EXPECT_THROW(pipeline_actions({.stages = 4, .microbatches = 0}, 0), LogicFault);
}

}  // namespace
}  // namespace perfbench::engine
