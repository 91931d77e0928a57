// The order of steps: simulated engines in threads, which request turns and wait as workloads/spec/turn_files.h says.
#include "harness/pairs/turns.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "harness/system/files.h"
#include "workloads/spec/turn_files.h"

namespace perfbench::harness {
namespace {

using testing::ElementsAre;

// One rank of a simulated engine.
class MadeUpRank {
 public:
  MadeUpRank(const Seat& seat, std::int64_t rank)
      : asks_(open((seat.folder / spec::kTurnAsksFile).c_str(), O_RDWR | O_CLOEXEC)),
        go_(open((seat.folder / spec::turn_go_file(rank)).c_str(), O_RDWR | O_CLOEXEC)),
        cancel_fd_(seat.cancel_fd) {}
  // Returns whether its turn came; otherwise it was cancelled.
  bool wait() {
    char byte = 't';
    if (write(asks_.get(), &byte, 1) != 1) throw std::runtime_error("no FIFO");
    std::array<pollfd, 2> watched{pollfd{go_.get(), POLLIN, 0}, pollfd{cancel_fd_, POLLIN, 0}};
    poll(watched.data(), watched.size(), -1);
    return watched[0].revents != 0 && read(go_.get(), &byte, 1) == 1;
  }

 private:
  FileDescriptor asks_;
  FileDescriptor go_;
  const int cancel_fd_;
};

class Turns : public testing::Test {
 protected:
  void say(const std::string& what) {
    const std::lock_guard lock(mutex_);
    said_.push_back(what);
  }
  // Records "NAME starts", "NAME 0", "NAME 1", ..., "NAME ends", each in a turn of its own, with all its ranks.
  Player player(const std::string& name, int steps, std::int64_t ranks = 1) {
    return {.ranks = ranks, .play = [this, name, steps, ranks](const Seat& seat) {
              say(name + " starts");
              std::vector<std::jthread> others;
              for (std::int64_t rank = 1; rank < ranks; ++rank) {
                others.emplace_back([seat, rank, steps] {
                  MadeUpRank me(seat, rank);
                  for (int i = 0; i <= steps; ++i) me.wait();
                });
              }
              MadeUpRank me(seat, 0);
              for (int i = 0; i < steps; ++i) {
                if (!me.wait()) return say(name + " is cancelled");
                say(name + " " + std::to_string(i));
              }
              me.wait();
              say(name + " ends");
            }};
  }
  static std::function<bool()> always(bool value) {
    return [value] { return value; };
  }

  std::mutex mutex_;
  std::vector<std::string> said_;
};

TEST_F(Turns, EachTakesOneStepInTheDrawnOrder) {
  int turn = 0;
  take_turns(
      player("a", 3), player("b", 3), [&turn] { return ++turn % 2 == 1; }, -1);
  EXPECT_THAT(said_, ElementsAre("a starts", "b starts", "a 0", "b 0", "b 1", "a 1", "a 2", "b 2", "b ends", "a ends"));
}

TEST_F(Turns, TheOtherContinuesWhenOneHasEnded) {
  take_turns(player("a", 1), player("b", 3), always(true), -1);
  EXPECT_THAT(said_, ElementsAre("a starts", "b starts", "a 0", "b 0", "a ends", "b 1", "b 2", "b ends"));
}

TEST_F(Turns, ARunThatNeverAsksForATurnIsWaitedForToItsEnd) {
  const Player crashes{.play = [this](const Seat&) { say("a crashes"); }};
  take_turns(crashes, player("b", 1), always(true), -1);
  EXPECT_THAT(said_, ElementsAre("a crashes", "b starts", "b 0", "b ends"));
}

TEST_F(Turns, ATurnIncludesAllRanks) {
  take_turns(player("a", 2, 3), player("b", 2, 2), always(false), -1);
  EXPECT_THAT(said_, ElementsAre("a starts", "b starts", "b 0", "a 0", "b 1", "a 1", "b ends", "a ends"));
}

TEST_F(Turns, ACancellationReachesBoth) {
  Event cancel;
  // Its first step is interrupted while the other one waits.
  const Player interrupted{.play = [this, &cancel](const Seat& seat) {
    MadeUpRank me(seat, 0);
    me.wait();
    cancel.add();
    pollfd cancelled{seat.cancel_fd, POLLIN, 0};
    poll(&cancelled, 1, -1);
    say("a is cancelled");
  }};
  take_turns(interrupted, player("b", 3), always(true), cancel.fd());
  EXPECT_THAT(said_, testing::UnorderedElementsAre("b starts", "a is cancelled", "b is cancelled"));
}

TEST_F(Turns, AnExceptionIsRethrownWhenBothHaveEnded) {
  const Player throws{.play = [](const Seat&) { throw std::runtime_error("a disk is full"); }};
  EXPECT_THROW(take_turns(throws, player("b", 1), always(true), -1), std::runtime_error);
  EXPECT_THAT(said_, ElementsAre("b starts", "b 0", "b ends"));
}

// Real time passes by itself: these loops end as soon as it has advanced.
TEST_F(Turns, TheOthersTimeIsCountedAsWaitingAndItsOwnIsNot) {
  std::function<std::chrono::nanoseconds()> waited_a;
  const Player a{.play = [&](const Seat& seat) {
    waited_a = seat.waited;
    MadeUpRank me(seat, 0);
    me.wait();
    const auto before = seat.waited();
    const auto now = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() == now) {
    }
    EXPECT_EQ(seat.waited(), before);
    EXPECT_GT(before.count(), 0);
    me.wait();
  }};
  const Player b{.play = [&](const Seat& seat) {
    const auto before = waited_a();  // it waits while this one starts
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (waited_a() == before && std::chrono::steady_clock::now() < deadline) {
    }
    EXPECT_GT(waited_a(), before);
    EXPECT_EQ(seat.waited().count(), 0);
    MadeUpRank me(seat, 0);
    me.wait();
  }};
  take_turns(a, b, always(true), -1);
}

}  // namespace
}  // namespace perfbench::harness
