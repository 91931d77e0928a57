#include "harness/launch/remote_sessions.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
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
constexpr std::chrono::milliseconds kBetweenSigns{2000};
// Jobs in a row that end without beginning an attempt, such as on a node that does not boot.
constexpr int kMostFruitless = 2;
// On a network file system, the last files of a node may become visible late.
constexpr std::chrono::seconds kLateFiles{2};
// How long a worker may take to end its attempt before its job is cancelled.
constexpr std::chrono::seconds kPatience{30};

bool is_interrupted(int cancel_fd, std::chrono::milliseconds patience = {}) {
  pollfd watched{.fd = cancel_fd, .events = POLLIN, .revents = 0};
  return poll(&watched, 1, static_cast<int>(patience.count())) > 0;
}

// Less if the user interrupts it.
void sleep_a_little(int cancel_fd) {
  is_interrupted(cancel_fd, kBetweenReadings);
}

void take_signal(int cancel_fd) {
  char taken[128];
  while (read(cancel_fd, taken, sizeof taken) > 0) {
  }
}

// Completes the run directory of an attempt that its ended job did not finish. The worker, if it should still live,
// then leaves the directory alone. `state`: nullopt for the one that the launcher names.
FinishedAttempt complete_lost_by(Session& session, std::int64_t task, const Cell& cell, ExecutionSettings settings,
                                 std::optional<AttemptState> state = {}) {
  session.folder().set_lost(task);
  const auto begun = session.folder().begun(task).value();
  const auto steps = StepsWatch(begun.directory, cell.run.program != nullptr).count();
  const auto what = state ? "cancelled by the user" : session.end_text();
  settings.job = session.place();
  auto out =
      complete_lost(attempt_directory(begun.directory), cell, settings, state.value_or(session.look().unfinished),
                    fmt::format("{} after {} steps", what, steps), begun.started_utc);
  out.disturbed_by_job = true;
  return out;
}

// A program may have damaged the record since; nullopt then.
std::optional<FinishedAttempt> finished_in(const fs::path& directory) {
  try {
    if (auto record = read_attempt(directory))
      return FinishedAttempt{.directory = directory, .record = std::move(*record)};
  } catch (const InputError&) {
  }
  return std::nullopt;
}

std::vector<std::shared_ptr<JobLauncher>> launchers_for(const std::vector<LaunchRequest>& places) {
  std::vector<std::shared_ptr<JobLauncher>> out;
  for (const auto& place : places) out.push_back(make_launcher(place));
  return out;
}

// Completes the run directories of attempts that the ended job did not finish.
void complete_tasks(Session& session) {
  const auto& folder = session.folder();
  for (std::int64_t number = 0; const auto task = folder.task(number); ++number) {
    const auto begun = folder.begun(number);
    if (!begun) continue;
    const fs::path directory = begun->directory;
    // A worker may end a moment after its client.
    for (const auto from = Clock::now(); !is_complete_attempt(directory) && Clock::now() - from < kLateFiles;) {
      folder.refresh();
      sleep_a_little(-1);
    }
    if (is_complete_attempt(directory)) continue;
    const auto parts = parts_of(*task, directory.parent_path().parent_path());
    complete_lost_by(session, number, parts.cell, parts.settings);
  }
}

}  // namespace

RemoteSessions::RemoteSessions(RemoteOptions options)
    : options_(std::move(options)), launchers_(launchers_for(options_.places)), pulse_([this] { give_signs(); }) {}

RemoteSessions::~RemoteSessions() {
  leave_.add();
  pulse_.join();
  if (detached_) return;
  std::set<const Session*> busy;
  for (const auto& order : announced_) busy.insert(order.session.get());
  for (const auto& session : sessions_) {
    try {
      // The results of a session that is not closed are taken over by --resume.
      if (busy.contains(session.get())) {
        session->ask_to_end();
      } else {
        session->close();
      }
    } catch (const std::exception& e) {
      say(e.what());  // the job ends by itself when it finds nobody waiting
    }
  }
}

// Tells the job of attempts that were not announced that somebody will give it one, also while an engine is built.
void RemoteSessions::give_signs() {
  pollfd watched{.fd = leave_.fd(), .events = POLLIN, .revents = 0};
  for (std::int64_t count = 1; poll(&watched, 1, static_cast<int>(kBetweenSigns.count())) == 0; ++count) {
    const std::lock_guard guard(current_mutex_);
    if (current_) current_->folder().give(SessionFolder::Sign::alive, count);
  }
}

void RemoteSessions::set_current(std::shared_ptr<Session> session) {
  const std::lock_guard guard(current_mutex_);
  current_ = std::move(session);
}

void RemoteSessions::say(const std::string& text) const {
  if (options_.say) options_.say(text);
}

std::shared_ptr<Session> RemoteSessions::open(const Cell& cell, const ExecutionSettings& settings) {
  const auto place = static_cast<std::size_t>(opened_) % launchers_.size();
  auto id = fmt::format("pb-{}-{}-{}", settings.sweep_id, spec::process_token().substr(0, 4), ++opened_);
  // Kubernetes allows small letters only.
  std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const SessionRecord record{.session_id = std::move(id),
                             .sweep_id = settings.sweep_id,
                             .sweep_kind = settings.sweep_kind,
                             .matrix = cell.matrix,
                             .begun_utc = utc_now(),
                             .working_dir = fs::current_path().string(),
                             .image = launchers_[place]->image(),
                             .launch = options_.places[place]};
  sessions_.push_back(std::make_shared<Session>(settings.runs, record, launchers_[place]));
  return sessions_.back();
}

void RemoteSessions::submit(Session& session) {
  try {
    session.submit(options_.worker.string());
  } catch (const LaunchError& e) {
    // Jobs that were submitted before go on, and --resume takes over their results.
    if (session.folder().has(SessionFolder::Mark::complete)) detached_ = true;
    if (current_.get() == &session) set_current(nullptr);
    throw RemoteEnd(e.what());
  }
  say("submitted " + session.job_text());
}

// An image has an engine of its own.
std::int64_t RemoteSessions::add(Session& session, const Cell& cell, const ExecutionSettings& settings) const {
  auto task = task_of(cell, settings);
  if (runs_in_image(options_.places.front().launcher)) task.engine.clear();
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
  bool is_first = false;
  if (!current_ || current_->look().state == JobState::ended) {
    is_first = current_ != nullptr;
    set_current(open(cell, settings));
    submit(*current_);
  }
  return {.session = current_, .task = add(*current_, cell, settings), .cell = &cell, .moved = is_first};
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
    if (is_interrupted(settings.cancel_fd) && interrupted(settings.cancel_fd)) return cancelled(order, settings);
    session.folder().refresh();
    if (auto finished = taken(order)) return *finished;
    const auto begun = steps ? std::nullopt : session.folder().begun(order.task);
    if (begun) {
      fruitless_ = 0;
      steps.emplace(begun->directory, order.cell->run.program != nullptr);
    }
    if (steps) on_steps(steps->count());
    all_ended();
    if (const auto news = session.news(); !news.empty()) say(news);
    if (session.ended() && !ended) ended = Clock::now();
    if (ended && Clock::now() - *ended > kLateFiles) {
      if (session.folder().begun(order.task)) return unfinished(order, settings);
      go_on_elsewhere(order, settings);
      ended.reset();
    }
    sleep_a_little(settings.cancel_fd);
  }
}

// The finished attempt, if its worker has said so.
std::optional<FinishedAttempt> RemoteSessions::taken(const Order& order) const {
  const auto done = order.session->folder().done(order.task);
  if (!done) return std::nullopt;
  auto out = finished_in(done->directory);
  if (!out) return std::nullopt;  // counted as unfinished when the job has ended
  out->disturbed_by_job = order.moved;
  out->surroundings = {.load = {.steal_fraction = done->steal_fraction,
                                .foreign_fraction = done->foreign_fraction,
                                .busiest = done->busiest},
                       .instructions = done->instructions};
  return out;
}

// The job ended while it executed this attempt.
FinishedAttempt RemoteSessions::unfinished(const Order& order, const ExecutionSettings& settings) {
  auto& session = *order.session;
  if (auto finished = finished_in(session.folder().begun(order.task)->directory)) return *finished;
  return complete_lost_by(session, order.task, *order.cell, settings);
}

// The job ended before it began this attempt. If it got somewhere, another job takes its remaining attempts.
void RemoteSessions::go_on_elsewhere(Order& order, const ExecutionSettings& settings) {
  const auto before = order.session;
  if (!before->folder().begun(0)) ++fruitless_;
  if (!before->look().may_go_on || fruitless_ >= kMostFruitless) {
    if (!jobs_outlive_harness()) wait_for_all(settings.cancel_fd);
    detached_ = true;  // other jobs go on, and --resume takes over what all of them did
    const auto log = before->log_text();
    throw RemoteEnd(fmt::format("[launch] {}, before it began {}{}", before->end_text(), shown_label(order.cell->label),
                                log.empty() ? "" : ": " + log));
  }
  before->close();  // a worker that is out of sight and lives again ends
  say(before->end_text() + "; another job takes its remaining attempts");
  auto after = open(*order.cell, settings);
  order.task = add(*after, *order.cell, settings);
  order.session = after;
  order.moved = true;
  for (auto& other : announced_) {
    if (other.session != before) continue;
    other.task = add(*after, *other.cell, settings);
    other.session = after;
  }
  const bool was_current = current_ == before;
  if (was_current) set_current(after);
  if (!was_current) after->complete();
  submit(*after);
}

bool RemoteSessions::interrupted(int cancel_fd) {
  take_signal(cancel_fd);
  // Attempts that were not announced have nobody who would give them to a job.
  const bool can_detach = !current_ && std::all_of(launchers_.begin(), launchers_.end(), [](const auto& launcher) {
    return launcher->jobs_outlive_harness();
  });
  const auto answer = can_detach && options_.ask ? options_.ask() : OnInterrupt::cancel;
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
  end_all(settings.grace + kPatience);
  auto& session = *order.session;
  session.folder().refresh();
  auto out = taken(order);
  if (!out && session.folder().begun(order.task)) {
    out = finished_in(session.folder().begun(order.task)->directory);
    if (!out) out = complete_lost_by(session, order.task, *order.cell, settings, AttemptState::cancelled);
  }
  if (!out) {
    out = record_without_execution(*order.cell, settings, AttemptState::cancelled, "cancelled before its job began it");
  }
  out->cancel_seen = true;
  return *out;
}

bool RemoteSessions::jobs_outlive_harness() const {
  return std::all_of(launchers_.begin(), launchers_.end(),
                     [](const auto& launcher) { return launcher->jobs_outlive_harness(); });
}

// A scheduler forgets jobs, so that the end of each has to be seen in time.
bool RemoteSessions::all_ended() const {
  for (const auto& session : sessions_) session->look();
  return std::all_of(sessions_.begin(), sessions_.end(), [](const auto& session) { return session->ended(); });
}

bool RemoteSessions::wait_for_all(int cancel_fd) {
  while (!all_ended()) {
    if (is_interrupted(cancel_fd, kBetweenReadings) && interrupted(cancel_fd)) return true;
  }
  return false;
}

// Waits until all jobs have ended. After `patience` they are cancelled, and after as long again nobody waits for them.
void RemoteSessions::end_all(std::chrono::nanoseconds patience) {
  const auto asked = Clock::now();
  while (!all_ended() && Clock::now() - asked < 2 * patience) {
    if (Clock::now() - asked > patience) {
      for (const auto& session : sessions_) session->cancel_job();
    }
    sleep_a_little(-1);
  }
}

void RemoteSessions::attach(const std::vector<SessionFolder>& sessions, int cancel_fd) {
  for (const auto& folder : sessions) {
    const auto record = folder.session().value();
    sessions_.push_back(std::make_shared<Session>(folder, record, make_launcher(record.launch)));
    auto& session = *sessions_.back();
    if (!folder.has(SessionFolder::Mark::complete)) session.ask_to_end();
    session.look();
    say((session.ended() ? "taking over the results of " : "attached to ") + session.job_text());
  }
  const bool cancel = wait_for_all(cancel_fd);
  if (cancel) {
    for (const auto& session : sessions_) session->ask_to_end();
    end_all(kPatience);
  }
  for (const auto& session : sessions_) {
    if (!session->ended()) continue;  // it stays open, and the next --resume looks at it again
    complete_tasks(*session);
    session->close();
  }
  detached_ = cancel;
  if (cancel) throw RemoteEnd("[launch] the jobs of the sweep are cancelled; `--resume` continues it");
}

}  // namespace perfbench::harness
