// Keeps pages ready. Pages that take long to make for a large database are made in the background, once for each state
// of the database. A request gets the page that is available instead of waiting.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "harness/serve/guards.h"

namespace perfbench::harness {

struct Answer {
  int status = 200;
  std::string policy;  // Content-Security-Policy
  std::string page;
  std::string data;  // the data within it, for a page that checks whether it is still current
  std::string type = "text/html; charset=utf-8";  // of `page`
};

class KeptAnswers {
 public:
  // Each maker is called by a thread of its own.
  using Maker = std::function<Answer(const ViewRequest& wanted)>;
  struct Limits {
    // How long a request waits if an older answer is available; then it gets that one.
    std::chrono::milliseconds patience{};
    // How long an answer that no request waits for is still made.
    std::chrono::milliseconds interest{10'000};
    std::size_t most = 64;  // largest number of answers; those that were not requested for longest are dropped
  };
  KeptAnswers(std::vector<Maker> makers, const Limits& limits);
  // Waits for running jobs. No request may call it any more.
  ~KeptAnswers();
  KeptAnswers(const KeptAnswers&) = delete;
  KeptAnswers& operator=(const KeptAnswers&) = delete;

  struct Found {
    std::shared_ptr<const Answer> answer;
    std::string state;  // the state of the database for which the answer was made, or an older one
  };
  // `state` identifies the present content of the database. If there is no answer yet, waits up to `longest` for it.
  // Then returns none; the answer is still made, for a request that follows soon. Throws what the maker threw, which is
  // not kept.
  Found get(const ViewRequest& wanted, const std::string& state, std::chrono::milliseconds longest);
  // Makes a page before it is requested: one at a time, while no request waits for another one.
  void prepare(const ViewRequest& wanted, const std::string& state);

 private:
  struct Job {
    ViewRequest wanted;
    std::string state;
    std::exception_ptr failure;
    bool begun = false;
    bool done = false;
    int waiting = 0;                                          // number of waiting requests
    std::chrono::steady_clock::time_point wanted_until = {};  // if none waits
  };
  struct Entry {
    Found found;
    std::shared_ptr<Job> making;
    std::uint64_t used = 0;
  };

  std::shared_ptr<Entry> entry(const ViewRequest& wanted);
  using Queue = std::deque<std::shared_ptr<Job>>;
  std::shared_ptr<Job> making(Entry& entry, const ViewRequest& wanted, const std::string& state, Queue& queue);
  std::shared_ptr<Job> next_job();
  void forget(const Job& job);
  void make_room();
  void work(const Maker& make);

  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable queued_;
  std::condition_variable made_;
  std::map<ViewRequest, std::shared_ptr<Entry>> entries_;
  Queue asked_for_;  // includes jobs that have begun: a request for a page that is to be prepared does not wait for its
                     // turn
  Queue to_prepare_;
  std::shared_ptr<const Job> preparing_;
  std::uint64_t uses_ = 0;
  bool ends_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace perfbench::harness
