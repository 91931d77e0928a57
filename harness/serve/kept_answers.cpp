#include "harness/serve/kept_answers.h"

#include <utility>

namespace perfbench::harness {

KeptAnswers::KeptAnswers(std::vector<Maker> makers, const Limits& limits) : limits_(limits) {
  for (auto& make : makers) workers_.emplace_back([this, make = std::move(make)] { work(make); });
}

KeptAnswers::~KeptAnswers() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  queued_.notify_all();
  for (auto& worker : workers_) worker.join();
}

KeptAnswers::Found KeptAnswers::get(const ViewRequest& wanted, const std::string& state, IfNone if_none) {
  const auto until = std::chrono::steady_clock::now() + limits_.patience;
  std::unique_lock lock(mutex_);
  const auto kept = entry(wanted);
  while (kept->found.answer == nullptr || kept->found.state != state) {
    const auto job = making(*kept, wanted, state, asked_for_);
    const auto is_done = [&] { return job->done; };
    if (kept->found.answer == nullptr && if_none == IfNone::wait) {
      made_.wait(lock, is_done);
    } else if (!made_.wait_until(lock, until, is_done)) {
      break;
    }
    if (job->failure != nullptr) std::rethrow_exception(job->failure);
    // Of a database that changes faster than the page is made there is never one of its newest state.
    if (std::chrono::steady_clock::now() >= until) break;
  }
  return kept->found;
}

void KeptAnswers::prepare(const ViewRequest& wanted, const std::string& state) {
  const std::lock_guard lock(mutex_);
  const auto kept = entry(wanted);
  if (kept->found.answer == nullptr || kept->found.state != state) making(*kept, wanted, state, to_prepare_);
}

std::shared_ptr<KeptAnswers::Entry> KeptAnswers::entry(const ViewRequest& wanted) {
  if (!entries_.contains(wanted)) make_room();
  auto& found = entries_[wanted];
  if (found == nullptr) found = std::make_shared<Entry>();
  found->used = ++uses_;
  return found;
}

// What is under way, or begins now.
std::shared_ptr<KeptAnswers::Job> KeptAnswers::making(Entry& entry, const ViewRequest& wanted, const std::string& state,
                                                      Queue& queue) {
  if (entry.making == nullptr) entry.making = std::make_shared<Job>(Job{.wanted = wanted, .state = state});
  if (!entry.making->begun) {
    queue.push_back(entry.making);
    queued_.notify_one();
  }
  return entry.making;
}

// nullptr: none that may begin.
std::shared_ptr<KeptAnswers::Job> KeptAnswers::next_job() {
  const auto take = [](Queue& queue) -> std::shared_ptr<Job> {
    while (!queue.empty()) {
      const auto job = queue.front();
      queue.pop_front();
      if (!std::exchange(job->begun, true)) return job;
    }
    return nullptr;
  };
  if (auto job = take(asked_for_)) return job;
  if (preparing_ != nullptr) return nullptr;
  auto job = take(to_prepare_);
  preparing_ = job;
  return job;
}

void KeptAnswers::make_room() {
  while (entries_.size() >= limits_.most) {
    auto oldest = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->second->making != nullptr) continue;
      if (oldest == entries_.end() || entry->second->used < oldest->second->used) oldest = entry;
    }
    if (oldest == entries_.end()) return;
    entries_.erase(oldest);
  }
}

void KeptAnswers::work(const Maker& make) {
  std::unique_lock lock(mutex_);
  while (true) {
    std::shared_ptr<Job> job;
    queued_.wait(lock, [&] { return ends_ || (job = next_job()) != nullptr; });
    if (ends_) return;
    lock.unlock();
    std::shared_ptr<const Answer> answer;
    std::exception_ptr failure;
    try {
      answer = std::make_shared<const Answer>(make(job->wanted));
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    job->done = true;
    if (preparing_ == job) preparing_ = nullptr;
    job->failure = failure;
    const auto& made = entries_.at(job->wanted);  // nothing that is being made is dropped
    made->making = nullptr;
    if (answer != nullptr) made->found = {.answer = std::move(answer), .state = job->state};
    made_.notify_all();
  }
}

}  // namespace perfbench::harness
