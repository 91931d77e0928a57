#include "harness/launch/remote_sessions.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "harness/evidence/run_directory.h"
#include "harness/evidence/run_evidence.h"
#include "harness/execute/process.h"
#include "harness/execute/steps_watch.h"
#include "harness/launch/launchers.h"
#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "workloads/spec/process_token.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenReadings{100};
// On a network file system, the last files of a node may become visible late.
constexpr std::chrono::seconds kLateFiles{2};
// How long a worker may take to end its attempt before its job is cancelled.
constexpr std::chrono::seconds kPatience{30};

// Whether the user interrupted.
bool sleep_a_little(int cancel_fd) {
  pollfd watched{.fd = cancel_fd, .events = POLLIN, .revents = 0};
  return poll(&watched, 1, static_cast<int>(kBetweenReadings.count())) > 0;
}

void take_signal(int cancel_fd) {
  char taken[128];
  while (read(cancel_fd, taken, sizeof taken) > 0) {
  }
}

AttemptDirectory directory_of(const std::string& path) {
  // create_attempt() names it by its number
  return {.path = path, .attempt = std::max<std::int64_t>(1, std::atoll(fs::path(path).filename().c_str()))};
}

FinishedAttempt finished_in(const fs::path& directory) {
  return {.directory = directory, .record = read_attempt(directory).value()};
}

FinishedAttempt finished_by(const TaskDone& done) {
  auto out = finished_in(done.directory);
  out.surroundings = {.load = {.steal_fraction = done.steal_fraction,
                               .foreign_fraction = done.foreign_fraction,
                               .busiest = done.busiest},
                      .instructions = done.instructions};
  return out;
}

bool is_complete(const fs::path& directory) {
  std::error_code error;
  return fs::exists(directory / kAttemptFile, error);
}

// Completes the run directory of an attempt that its ended job did not finish.
FinishedAttempt complete_lost_by(Session& session, const AttemptDirectory& directory, const Cell& cell,
                                 ExecutionSettings settings) {
  const auto state = session.look().unfinished;
  const auto steps = StepsWatch(directory.path, cell.run.program != nullptr).count();
  settings.job = session.place();
  return complete_lost(directory, cell, settings, state, fmt::format("{} after {} steps", session.end_text(), steps));
}

// Completes the run directories of attempts that the ended job did not finish.
void complete_tasks(Session& session) {
  const auto& folder = session.folder();
  for (std::int64_t number = 0; const auto task = folder.task(number); ++number) {
    const auto begun = folder.begun(number);
    if (!begun) continue;
    const auto directory = directory_of(begun->directory);
    // A worker may end a moment after its client.
    for (const auto from = Clock::now(); !is_complete(directory.path) && Clock::now() - from < kLateFiles;) {
      folder.refresh();
      sleep_a_little(-1);
    }
    if (is_complete(directory.path)) continue;
    const auto parts = parts_of(*task, directory.path.parent_path().parent_path());
    complete_lost_by(session, directory, parts.cell, parts.settings);
  }
}

}  // namespace

RemoteSessions::RemoteSessions(RemoteOptions options) : options_(std::move(options)) {
  for (const auto& place : options_.places) launchers_.push_back(make_launcher(place));
}

RemoteSessions::~RemoteSessions() {
  if (detached_) return;
  std::set<const Session*> busy;
  for (const auto& order : announced_) busy.insert(order.session.get());
  for (const auto& session : sessions_) {
    try {
      if (busy.contains(session.get()) && !session->ended()) session->cancel_job();
      session->close();
    } catch (const std::exception& e) {
      say(e.what());  // the job ends by itself when it finds nobody waiting
    }
  }
}

void RemoteSessions::say(const std::string& text) const {
  if (options_.say) options_.say(text);
}

std::shared_ptr<Session> RemoteSessions::open(const Cell& cell, const ExecutionSettings& settings) {
  const auto place = static_cast<std::size_t>(opened_) % launchers_.size();
  const SessionRecord record{
      .session_id = fmt::format("pb-{}-{}-{}", settings.sweep_id, spec::process_token().substr(0, 4), ++opened_),
      .sweep_id = settings.sweep_id,
      .sweep_kind = settings.sweep_kind,
      .matrix = cell.matrix,
      .begun_utc = utc_now(),
      .working_dir = fs::current_path().string(),
      .launch = options_.places[place]};
  sessions_.push_back(std::make_shared<Session>(settings.runs, record, launchers_[place]));
  return sessions_.back();
}

void RemoteSessions::submit(Session& session) {
  try {
    session.submit(options_.worker.string());
  } catch (const LaunchError& e) {
    throw RemoteEnd(e.what());
  }
  say("submitted " + session.job_text());
}

// An image has an engine of its own.
std::int64_t RemoteSessions::add(Session& session, const Cell& cell, const ExecutionSettings& settings) const {
  auto task = task_of(cell, settings);
  if (!options_.places.front().image.empty()) task.engine.clear();
  return session.add(task);
}

// All attempts of a cell go to the same job, so that they can be compared.
void RemoteSessions::announce(const std::vector<const Cell*>& cells, const ExecutionSettings& settings) {
  if (options_.one_at_a_time) return;
  std::map<std::string, std::shared_ptr<Session>> by_run;
  std::vector<std::shared_ptr<Session>> mine;
  for (const auto* cell : cells) {
    auto& session = by_run[cell->run_id];
    if (!session && std::ssize(mine) < options_.jobs) mine.push_back(open(*cell, settings));
    if (!session) session = mine[(by_run.size() - 1) % mine.size()];
    announced_.push_back({.session = session, .task = add(*session, *cell, settings), .cell = cell});
  }
  for (const auto& session : mine) session->complete();
  for (const auto& session : mine) submit(*session);
}

RemoteSessions::Order RemoteSessions::order_for(const Cell& cell, const ExecutionSettings& settings) {
  if (!announced_.empty() && announced_.front().cell == &cell) {
    auto order = announced_.front();
    announced_.pop_front();
    return order;
  }
  if (!current_ || current_->ended()) {
    current_ = open(cell, settings);
    submit(*current_);
  }
  return {.session = current_, .task = add(*current_, cell, settings), .cell = &cell};
}

FinishedAttempt RemoteSessions::execute(const Cell& cell, const ExecutionSettings& settings,
                                        const StepsListener& on_steps) {
  auto order = order_for(cell, settings);
  return wait_for(order, settings, on_steps);
}

FinishedAttempt RemoteSessions::wait_for(Order& order, const ExecutionSettings& settings,
                                         const StepsListener& on_steps) {
  std::optional<StepsWatch> steps;
  std::optional<Clock::time_point> ended;
  while (true) {
    auto& session = *order.session;
    if (const auto done = session.folder().done(order.task)) return finished_by(*done);
    const auto begun = steps ? std::nullopt : session.folder().begun(order.task);
    if (begun) {
      session.count_begun();
      steps.emplace(begun->directory, order.cell->run.program != nullptr);
    }
    if (steps) on_steps(steps->count());
    session.stay_alive();
    session.look();
    if (const auto news = session.news(); !news.empty()) say(news);
    if (session.ended() && !ended) ended = Clock::now();
    if (ended) session.folder().refresh();
    if (ended && Clock::now() - *ended > kLateFiles) {
      if (session.folder().begun(order.task)) return unfinished(order, settings);
      go_on_elsewhere(order, settings);
      ended.reset();
    }
    if (sleep_a_little(settings.cancel_fd) && interrupted(settings.cancel_fd)) return cancelled(order, settings);
  }
}

// The job ended while it executed this attempt.
FinishedAttempt RemoteSessions::unfinished(const Order& order, const ExecutionSettings& settings) {
  auto& session = *order.session;
  const auto directory = directory_of(session.folder().begun(order.task)->directory);
  if (is_complete(directory.path)) return finished_in(directory.path);
  return complete_lost_by(session, directory, *order.cell, settings);
}

// The job ended before it began this attempt. If it got somewhere, another job takes its remaining attempts.
void RemoteSessions::go_on_elsewhere(Order& order, const ExecutionSettings& settings) {
  const auto before = order.session;
  if (!before->look().may_go_on || before->begun() == 0) {
    const auto log = before->log_text();
    throw RemoteEnd(fmt::format("[launch] {}, before it began {}{}", before->end_text(), shown_label(order.cell->label),
                                log.empty() ? "" : ": " + log));
  }
  before->close();  // a worker that is out of sight and lives again ends
  say(before->end_text() + "; another job takes its remaining attempts");
  auto after = open(*order.cell, settings);
  order.task = add(*after, *order.cell, settings);
  order.session = after;
  for (auto& other : announced_) {
    if (other.session != before) continue;
    other.task = add(*after, *other.cell, settings);
    other.session = after;
  }
  const bool was_current = current_ == before;
  if (was_current) current_ = after;
  if (!was_current) after->complete();
  submit(*after);
}

bool RemoteSessions::interrupted(int cancel_fd) {
  take_signal(cancel_fd);
  const auto answer = options_.ask ? options_.ask() : OnInterrupt::cancel;
  if (answer == OnInterrupt::go_on) return false;
  if (answer == OnInterrupt::cancel) return true;
  detached_ = true;
  std::string jobs;
  for (const auto& session : sessions_) {
    if (!session->ended()) jobs += (jobs.empty() ? "" : ", ") + session->job_text();
  }
  throw RemoteEnd(
      fmt::format("[launch] left running: {}; the same command with --resume takes over the results", jobs));
}

FinishedAttempt RemoteSessions::cancelled(Order& order, const ExecutionSettings& settings) {
  for (const auto& session : sessions_) session->ask_to_end();
  auto& session = *order.session;
  const auto asked = Clock::now();
  FinishedAttempt out;
  while (true) {
    const bool had_begun = session.folder().begun(order.task).has_value();
    if (const auto done = session.folder().done(order.task)) {
      out = finished_by(*done);
      break;
    }
    session.look();
    const bool waited = Clock::now() - asked > settings.grace + kPatience;
    if (waited) session.cancel_job();
    if (!session.ended() && !waited) {
      sleep_a_little(-1);
      continue;
    }
    out = had_begun ? unfinished(order, settings)
                    : record_without_execution(*order.cell, settings, AttemptState::cancelled,
                                               "cancelled before its job began it");
    break;
  }
  for (const auto& other : sessions_) other->cancel_job();
  out.cancel_seen = true;
  return out;
}

void RemoteSessions::follow_to_the_end(Session& session, int cancel_fd) {
  std::optional<Clock::time_point> cancelled_at;
  while (!session.ended()) {
    if (sleep_a_little(cancel_fd) && interrupted(cancel_fd)) {
      cancelled_at = Clock::now();
      session.ask_to_end();
    }
    if (cancelled_at && Clock::now() - *cancelled_at > kPatience) session.cancel_job();
    session.look();
  }
  complete_tasks(session);
  session.close();
  if (cancelled_at) throw RemoteEnd("[launch] cancelled: " + session.job_text());
}

void RemoteSessions::attach(const std::vector<SessionFolder>& sessions, int cancel_fd) {
  for (const auto& folder : sessions) {
    const auto record = folder.session().value();
    sessions_.push_back(std::make_shared<Session>(folder, record, make_launcher(record.launch)));
    auto& session = *sessions_.back();
    if (!folder.has(SessionFolder::Mark::complete)) session.ask_to_end();
    session.look();
    say((session.ended() ? "taking over the results of " : "attached to ") + session.job_text());
    follow_to_the_end(session, cancel_fd);
  }
}

}  // namespace perfbench::harness
