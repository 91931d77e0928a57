// Which requests wait for a page, and which get the available one.
#include "harness/serve/kept_answers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace perfbench::harness {
namespace {

constexpr auto kLong = std::chrono::hours(1);
constexpr auto kAtOnce = std::chrono::milliseconds(0);

// A database whose pages say how often they were made, and can be held back by name.
class Site {
 public:
  KeptAnswers::Maker maker() {
    return [this](const ViewRequest& wanted) {
      std::unique_lock lock(mutex_);
      const auto number = ++made_[wanted.path];
      changed_.notify_all();
      changed_.wait(lock, [&] { return !held_.contains(wanted.path); });
      if (broken_.contains(wanted.path)) throw std::runtime_error("no such table");
      return Answer{.page = wanted.path + " " + std::to_string(number)};
    };
  }
  void hold(const std::string& path) {
    change([&] { held_.insert(path); });
  }
  void let_go(const std::string& path) {
    change([&] { held_.erase(path); });
  }
  void breaks(const std::string& path) {
    change([&] { broken_.insert(path); });
  }
  void is_mended(const std::string& path) {
    change([&] { broken_.erase(path); });
  }
  int made(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return made_[path];
  }
  void wait_until_begun(const std::string& path, int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return made_[path] >= count; });
  }

 private:
  template <class F>
  void change(F f) {
    const std::lock_guard lock(mutex_);
    f();
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> made_;
  std::set<std::string> held_;
  std::set<std::string> broken_;
};

class KeptAnswersTest : public testing::Test {
 protected:
  KeptAnswers answers(const KeptAnswers::Limits& limits, int makers = 1) {
    return KeptAnswers(std::vector<KeptAnswers::Maker>(static_cast<std::size_t>(makers), site_.maker()), limits);
  }
  static std::string body(KeptAnswers& kept, const std::string& path, const std::string& state) {
    return kept.get({.path = path}, state, kLong).answer->page;
  }

  Site site_;
};

TEST_F(KeptAnswersTest, AreMadeOnceForEachState) {
  auto kept = answers({.patience = kLong});
  EXPECT_EQ(body(kept, "/runs", "1"), "/runs 1");
  EXPECT_EQ(body(kept, "/runs", "1"), "/runs 1");
  EXPECT_EQ(body(kept, "/runs", "2"), "/runs 2");
  EXPECT_EQ(kept.get({.path = "/runs"}, "2", kLong).state, "2");
  EXPECT_EQ(body(kept, "/report", "2"), "/report 1");
  EXPECT_EQ(kept.get({.path = "/runs", .parameters = {{"limit", "3"}}}, "2", kLong).answer->page, "/runs 3");
}

TEST_F(KeptAnswersTest, AreMadeOnceForAllWaitingRequests) {
  auto kept = answers({.patience = kLong}, 2);
  site_.hold("/history");
  std::vector<std::future<std::string>> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.push_back(std::async(std::launch::async, [&] { return body(kept, "/history", "1"); }));
  }
  site_.wait_until_begun("/history", 1);
  site_.let_go("/history");
  for (auto& one : waiting) EXPECT_EQ(one.get(), "/history 1");
}

TEST_F(KeptAnswersTest, TheOlderAnswerIsReturnedAfterTheWait) {
  auto kept = answers({.patience = std::chrono::milliseconds(0)});
  EXPECT_EQ(body(kept, "/history", "1"), "/history 1");
  site_.hold("/history");
  const auto older = kept.get({.path = "/history"}, "2", kLong);
  EXPECT_EQ(older.answer->page, "/history 1");
  EXPECT_EQ(older.state, "1") << "or the page would be taken for the newest one";
  site_.wait_until_begun("/history", 2);
  EXPECT_EQ(body(kept, "/history", "3"), "/history 1");
  site_.let_go("/history");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto state = [&] { return kept.get({.path = "/history"}, "3", kLong).state; };
  while (state() == "1" && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_NE(state(), "1");
  EXPECT_LE(site_.made("/history"), 3) << "each state once at most";
}

TEST_F(KeptAnswersTest, TheFirstAnswerIsWaitedFor) {
  auto kept = answers({.patience = std::chrono::milliseconds(0)});
  site_.hold("/report");
  auto first = std::async(std::launch::async, [&] { return body(kept, "/report", "1"); });
  site_.wait_until_begun("/report", 1);
  site_.let_go("/report");
  EXPECT_EQ(first.get(), "/report 1");
}

TEST_F(KeptAnswersTest, AFirstAnswerThatTakesTooLongIsMadeForTheNextRequest) {
  auto kept = answers({.patience = std::chrono::milliseconds(0)});
  site_.hold("/report");
  EXPECT_EQ(kept.get({.path = "/report"}, "1", kAtOnce).answer, nullptr);
  site_.wait_until_begun("/report", 1);
  EXPECT_EQ(kept.get({.path = "/report"}, "1", kAtOnce).answer, nullptr);
  site_.let_go("/report");
  EXPECT_EQ(body(kept, "/report", "1"), "/report 1");
  EXPECT_EQ(kept.get({.path = "/report"}, "1", kAtOnce).answer->page, "/report 1");
}

TEST_F(KeptAnswersTest, AnswersThatNobodyWaitsForAreNotMade) {
  auto kept = answers({.patience = kAtOnce, .interest = kAtOnce});
  site_.hold("/a");
  auto slow = std::async(std::launch::async, [&] { return body(kept, "/a", "1"); });
  site_.wait_until_begun("/a", 1);
  EXPECT_EQ(kept.get({.path = "/left"}, "1", kAtOnce).answer, nullptr);
  EXPECT_EQ(kept.get({.path = "/asked again"}, "1", kAtOnce).answer, nullptr);
  auto again = std::async(std::launch::async, [&] { return body(kept, "/asked again", "1"); });
  site_.let_go("/a");
  EXPECT_EQ(slow.get(), "/a 1");
  EXPECT_EQ(again.get(), "/asked again 1");
  EXPECT_EQ(body(kept, "/b", "1"), "/b 1");
  EXPECT_EQ(site_.made("/left"), 0);
}

TEST_F(KeptAnswersTest, OtherPagesDoNotWaitForASlowOne) {
  auto kept = answers({.patience = kLong}, 2);
  site_.hold("/history");
  auto slow = std::async(std::launch::async, [&] { return body(kept, "/history", "1"); });
  site_.wait_until_begun("/history", 1);
  EXPECT_EQ(body(kept, "/runs", "1"), "/runs 1");
  site_.let_go("/history");
  EXPECT_EQ(slow.get(), "/history 1");
}

TEST_F(KeptAnswersTest, ArePreparedBeforeTheFirstRequest) {
  auto kept = answers({.patience = kLong});
  kept.prepare({.path = "/history"}, "1");
  kept.prepare({.path = "/history"}, "1");
  EXPECT_EQ(body(kept, "/history", "1"), "/history 1");
  EXPECT_EQ(body(kept, "/history", "1"), "/history 1");
}

TEST_F(KeptAnswersTest, RequestedAnswersComeBeforePreparedOnes) {
  auto kept = answers({.patience = kLong}, 2);
  site_.hold("/history");
  kept.prepare({.path = "/history"}, "1");
  kept.prepare({.path = "/report"}, "1");
  site_.wait_until_begun("/history", 1);
  EXPECT_EQ(body(kept, "/runs", "1"), "/runs 1") << "one thread prepares";
  EXPECT_EQ(site_.made("/report"), 0);
  EXPECT_EQ(body(kept, "/report", "1"), "/report 1") << "asked for, it does not wait for its turn";
  site_.let_go("/history");
  EXPECT_EQ(body(kept, "/history", "1"), "/history 1");
  EXPECT_EQ(body(kept, "/report", "1"), "/report 1");
}

TEST_F(KeptAnswersTest, FailuresAreReportedAndTriedAgain) {
  auto kept = answers({.patience = kLong});
  site_.breaks("/runs");
  EXPECT_THROW(body(kept, "/runs", "1"), std::runtime_error);
  EXPECT_THROW(body(kept, "/runs", "1"), std::runtime_error);
  site_.is_mended("/runs");
  EXPECT_EQ(body(kept, "/runs", "1"), "/runs 3");
}

TEST_F(KeptAnswersTest, TheLeastRecentlyRequestedAnswersAreDropped) {
  auto kept = answers({.patience = kLong, .most = 2});
  body(kept, "/a", "1");
  body(kept, "/b", "1");
  body(kept, "/a", "1");
  body(kept, "/c", "1");
  EXPECT_EQ(body(kept, "/a", "1"), "/a 1");
  EXPECT_EQ(body(kept, "/b", "1"), "/b 2");
}

// Jobs end with the last request for them, and no other request waits for them.
TEST_F(KeptAnswersTest, DestructionDoesNotWaitForQueuedAnswers) {
  {
    auto kept = answers({.patience = kLong});
    site_.hold("/a");
    kept.prepare({.path = "/a"}, "1");
    kept.prepare({.path = "/b"}, "1");
    site_.wait_until_begun("/a", 1);
    site_.let_go("/a");
  }
  EXPECT_EQ(site_.made("/a"), 1);
  EXPECT_LE(site_.made("/b"), 1) << "it may have begun before the end";
}

}  // namespace
}  // namespace perfbench::harness
