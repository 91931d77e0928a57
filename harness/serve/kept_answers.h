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

#include "harness/serve/view_request.h"

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
    std::chrono::milliseconds patience{150};  // of who asks: after that, the older answer will do, where there is one
    std::size_t most = 64;                    // answers; of more, those that nobody has asked for for longest go
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
  // What to do about an answer that there never was, and that takes longer than patience does: wait for it, or go
  // without, while it is made for who comes later.
  enum class IfNone { wait, go };
  // `state` names what the database is now. No answer: there is none yet, and who asks goes. Throws what the maker
  // threw; that is not kept.
  Found get(const ViewRequest& wanted, const std::string& state, IfNone if_none = IfNone::wait);
  // For who will ask: one at a time, when nobody waits for another.
  void prepare(const ViewRequest& wanted, const std::string& state);

 private:
  struct Job {
    ViewRequest wanted;
    std::string state;
    std::exception_ptr failure;
    bool begun = false;
    bool done = false;
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
