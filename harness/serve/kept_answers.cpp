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

KeptAnswers::Found KeptAnswers::get(const ViewRequest& wanted, const std::string& state,
                                    std::chrono::milliseconds longest) {
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  const auto kept = entry(wanted);
  while (kept->found.answer == nullptr || kept->found.state != state) {
    const auto job = making(*kept, wanted, state, asked_for_);
    const auto until = begin + (kept->found.answer == nullptr ? longest : limits_.patience);
    ++job->waiting;
    const bool is_done = made_.wait_until(lock, until, [&] { return job->done; });
    --job->waiting;
    job->wanted_until = std::chrono::steady_clock::now() + limits_.interest;
    if (!is_done) break;
    if (job->failure != nullptr) std::rethrow_exception(job->failure);
    // If the database changes faster than a page is made, a page of its newest state never exists.
    if (std::chrono::steady_clock::now() >= begin + limits_.patience) break;
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

// The job that is running for this page, or a new one.
std::shared_ptr<KeptAnswers::Job> KeptAnswers::making(Entry& entry, const ViewRequest& wanted, const std::string& state,
                                                      Queue& queue) {
  if (entry.making == nullptr) entry.making = std::make_shared<Job>(Job{.wanted = wanted, .state = state});
  if (!entry.making->begun) {
    queue.push_back(entry.making);
    queued_.notify_one();
  }
  return entry.making;
}

// nullptr if no job may begin.
std::shared_ptr<KeptAnswers::Job> KeptAnswers::next_job() {
  const auto take = [](Queue& queue) {
    auto job = queue.front();
    queue.pop_front();
    return job;
  };
  while (!asked_for_.empty()) {
    auto job = take(asked_for_);
    if (job->begun) continue;
    if (job->waiting > 0 || std::chrono::steady_clock::now() < job->wanted_until) {
      job->begun = true;
      return job;
    }
    forget(*job);
  }
  while (preparing_ == nullptr && !to_prepare_.empty()) {
    auto job = take(to_prepare_);
    if (std::exchange(job->begun, true)) continue;
    preparing_ = job;
    return job;
  }
  return nullptr;
}

// The next request for the page starts another job.
void KeptAnswers::forget(const Job& job) {
  const auto entry = entries_.find(job.wanted);
  if (entry != entries_.end() && entry->second->making.get() == &job) entry->second->making = nullptr;
}

void KeptAnswers::make_room() {
  while (entries_.size() >= limits_.most) {
    auto oldest = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->second->making != nullptr || entry->second.use_count() > 1) continue;  // somebody waits for it
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
    forget(*job);
    const auto made = entries_.find(job->wanted);
    if (answer != nullptr && made != entries_.end()) {
      made->second->found = {.answer = std::move(answer), .state = job->state};
    }
    made_.notify_all();
  }
}

}  // namespace perfbench::harness
