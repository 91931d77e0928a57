#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <utility>

#include "engine/parallel/watchdog.h"

namespace perfbench::engine {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A watchdog that looks as often as it can, and the text with which it gave up.
struct Watch {
  std::promise<std::string> why;
  std::atomic<bool> library_failed = false;
  Watchdog watchdog;

  explicit Watch(std::chrono::milliseconds timeout)
      : watchdog({.timeout = timeout,
                  .period = 1ms,
                  .fault = [this]() -> std::optional<std::string> {
                    if (!library_failed) return std::nullopt;
                    return "NCCL reports: remote process exited";
                  },
                  .give_up = [this](const std::string& text) { why.set_value(text); }}) {}
};

TEST(Watchdog, GivesUpOnAnOperationThatDoesNotEnd) {
  Watch watch(0ms);
  watch.watchdog.watch({.ended = [] { return false; }, .name = "all_gather over fsdp, 64 bytes,"});
  EXPECT_THAT(watch.why.get_future().get(), HasSubstr("all_gather over fsdp, 64 bytes, has not ended after"));
}

TEST(Watchdog, ReportsAnErrorOfTheLibrary) {
  Watch watch(1h);
  watch.library_failed = true;
  EXPECT_EQ(watch.why.get_future().get(), "NCCL reports: remote process exited");
}

// An operation that may wait on one stream does not hide one that hangs on another.
TEST(Watchdog, TimesEachQueueByItself) {
  struct Queue {
    std::promise<void> asked;
    bool was_asked = false;
  };
  std::array<Queue, 2> queues;
  Watch watch(1h);
  for (auto& queue : queues) {
    watch.watchdog.watch({.ended =
                              [&queue] {
                                if (!std::exchange(queue.was_asked, true)) queue.asked.set_value();
                                return false;
                              },
                          .name = "receive",
                          .queue = &queue});
  }
  for (auto& queue : queues) EXPECT_EQ(queue.asked.get_future().wait_for(60s), std::future_status::ready);
}

TEST(Watchdog, ForgetsEndedOperationsAndNamesTheFirstUnfinishedOne) {
  std::promise<void> second_asked;
  std::atomic<bool> asked = false;
  {
    Watch watch(1h);
    watch.watchdog.watch({.ended = [] { return true; }, .name = "first"});
    watch.watchdog.watch({.ended =
                              [&] {
                                if (!asked.exchange(true)) second_asked.set_value();
                                return false;
                              },
                          .name = "second"});
    second_asked.get_future().wait();  // only the front of a queue is queried, so the first one is gone
    watch.library_failed = true;
    EXPECT_EQ(watch.why.get_future().get(), "NCCL reports: remote process exited");
  }
}

TEST(Watchdog, StopsSilentlyIfAllIsWell) {
  Watch watch(1h);
  auto given_up = watch.why.get_future();
  std::promise<void> looked;
  watch.watchdog.watch({.ended =
                            [&, once = false]() mutable {
                              if (!once) looked.set_value();
                              once = true;
                              return true;
                            },
                        .name = "one"});
  looked.get_future().wait();
  EXPECT_EQ(given_up.wait_for(0s), std::future_status::timeout);
}

}  // namespace
}  // namespace perfbench::engine
