// Pages that are ready: what takes long to make of a large database is made beside the requests, once for each state of
// it, and who asks gets what there is rather than wait.
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
  std::string data;  // that within it, for a page that looks whether it is still so
};

class KeptAnswers {
 public:
  // Each is called by a thread of its own.
  using Maker = std::function<Answer(const ViewRequest& wanted)>;
  struct Limits {
    // Of who asks where an older answer is there: that one will do then.
    std::chrono::milliseconds patience{};
    // How long an answer that nobody waits for any more is still to be made.
    std::chrono::milliseconds interest{10'000};
    std::size_t most = 64;  // answers; of more, those that nobody has asked for for longest go
  };
  KeptAnswers(std::vector<Maker> makers, const Limits& limits);
  // Waits for what is being made; nobody may ask any more.
  ~KeptAnswers();
  KeptAnswers(const KeptAnswers&) = delete;
  KeptAnswers& operator=(const KeptAnswers&) = delete;

  struct Found {
    std::shared_ptr<const Answer> answer;
    std::string state;  // that the answer is of, or of a newer one
  };
  // `state` names what the database is now. Where there never was an answer it is waited for as long as `longest`; none
  // then, which is still made for who comes soon. Throws what the maker threw; that is not kept.
  Found get(const ViewRequest& wanted, const std::string& state, std::chrono::milliseconds longest);
  // For who will ask: one at a time, when nobody waits for another.
  void prepare(const ViewRequest& wanted, const std::string& state);

 private:
  struct Job {
    ViewRequest wanted;
    std::string state;
    std::exception_ptr failure;
    bool begun = false;
    bool done = false;
    int waiting = 0;                                          // how many do
    std::chrono::steady_clock::time_point wanted_until = {};  // where none does
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
  Queue asked_for_;  // those that have begun too: who asks for what is to be prepared does not wait for its turn
  Queue to_prepare_;
  std::shared_ptr<const Job> preparing_;
  std::uint64_t uses_ = 0;
  bool ends_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace perfbench::harness
