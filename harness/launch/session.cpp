#include "harness/launch/session.h"

#include <fmt/core.h>

#include "harness/evidence/run_directory.h"
#include "harness/execute/classify.h"
#include "harness/execute/process.h"
#include "harness/system/input_error.h"
#include "workloads/spec/run_program.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;

// A scheduler serves many users, so it is not asked more often. The worker's files are read much more often.
constexpr std::chrono::seconds kBetweenLooks{3};
constexpr std::chrono::seconds kBetweenCancels{10};
// A worker gives a sign every kBetweenWorkerSigns.
constexpr std::chrono::seconds kLongestSilence{5 * kBetweenWorkerSigns};

fs::path new_folder(const fs::path& runs, const std::string& session_id) {
  const auto path = fs::absolute(sessions_folder(runs) / session_id);
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw RunDirectoryError(fmt::format("[launch] cannot make {}: {}", path.string(), error.message()));
  return path;
}

}  // namespace

SessionTask task_of(const Cell& cell, const ExecutionSettings& settings) {
  SessionTask out{.attempt = new_record(cell, settings, 1),
                  .run = spec::canonical_json(cell.run),
                  .program_repo = cell.program_repo,
                  .engine_arguments = settings.launcher.engine_arguments,
                  .time_limit_ns = settings.time_limit.count(),
                  .memory_limit_bytes = settings.memory_limit_bytes,
                  .without_lock = settings.machine_use == MachineUse::shared};
  const auto& engine = settings.launcher.engine;
  if (!engine.file.empty()) out.engine = fs::absolute(engine.file).string();
  if (!engine.libraries.empty()) out.engine_libraries = fs::absolute(engine.libraries).string();
  return out;
}

TaskParts parts_of(const SessionTask& task, const fs::path& runs) {
  const auto& attempt = task.attempt;
  TaskParts out;
  try {
    out.cell.run = spec::parse_recorded_run(task.run);
  } catch (const spec::SpecError& e) {
    throw InputError(fmt::format("[launch] the task of run {}: {} {}", attempt.run_id, e.pointer(), e.what()));
  }
  out.cell.matrix = attempt.matrix;
  out.cell.axes = {attempt.axes.begin(), attempt.axes.end()};
  out.cell.label = attempt.cell;
  out.cell.program_repo = task.program_repo;
  out.cell.run_id = attempt.run_id;
  out.settings.runs = runs;
  out.settings.launcher.engine = {task.engine, task.engine_libraries};
  out.settings.launcher.engine_arguments = task.engine_arguments;
  out.settings.time_limit = std::chrono::nanoseconds(task.time_limit_ns);
  out.settings.memory_limit_bytes = task.memory_limit_bytes;
  out.settings.sweep_id = attempt.sweep_id;
  out.settings.sweep_kind = attempt.sweep_kind;
  out.settings.engine_sha256 = attempt.engine_sha256;
  out.settings.repeats = attempt.repeats;
  out.settings.only = attempt.only;
  out.settings.words = attempt.words;
  out.settings.perfbench_version = attempt.perfbench_version;
  return out;
}

Session::Session(const fs::path& runs, const SessionRecord& record, std::shared_ptr<JobLauncher> launcher)
    : folder_(new_folder(runs, record.session_id)),
      launcher_name_(record.launch.launcher),
      image_(record.image),
      launcher_(std::move(launcher)) {
  folder_.write(record);
}

Session::Session(SessionFolder folder, const SessionRecord& record, std::shared_ptr<JobLauncher> launcher)
    : folder_(std::move(folder)),
      launcher_name_(record.launch.launcher),
      image_(record.image),
      launcher_(std::move(launcher)) {
  if (const auto handle = folder_.job()) job_ = handle->job;
  // The earlier harness may have been killed between the submission and the note about it.
  is_searched_ = !job_;
}

std::int64_t Session::add(const SessionTask& task) {
  folder_.write(tasks_, task);
  return tasks_++;
}

void Session::submit(const std::string& worker) {
  job_ = launcher_->submit({.name = folder_.path().filename().string(),
                            .command = {worker, "worker", folder_.path().string()},
                            .log = folder_.log()});
  folder_.write(JobHandle{*job_});
}

const JobView& Session::look() {
  const auto now = Clock::now();
  if (ended() || (looked_ != Clock::time_point{} && now - looked_ < kBetweenLooks)) return view_;
  looked_ = now;
  if (is_searched_) search();
  if (!job_) return view_;
  auto seen = launcher_->look(*job_);
  if (seen.nodes.empty()) seen.nodes = view_.nodes;
  if (seen.is_out_of_sight && worker_lives()) seen.state = JobState::unknown;
  view_ = std::move(seen);
  return view_;
}

void Session::search() {
  try {
    job_ = launcher_->find(folder_.path().filename().string());
    is_searched_ = false;
    if (!job_) view_ = {.state = JobState::ended, .what = "never submitted", .unfinished = AttemptState::cancelled};
  } catch (const LaunchError& e) {
    view_ = {.state = JobState::unknown, .what = e.what()};
  }
}

bool Session::worker_lives() {
  const auto now = Clock::now();
  auto sign = folder_.last(SessionFolder::Sign::working);
  if (worker_signed_ == Clock::time_point{} || sign != worker_sign_) {
    worker_sign_ = std::move(sign);
    worker_signed_ = now;
  }
  return now - worker_signed_ < kLongestSilence;
}

std::string Session::news() {
  if (ended() || view_.what == told_) return "";
  told_ = view_.what;
  return job_text() + (view_.nodes.empty() ? "" : " on " + view_.nodes);
}

JobPlace Session::place() const {
  return {.launcher = launcher_name_,
          .job = job_.value_or(folder_.path().filename().string()),
          .nodes = view_.nodes,
          .image = image_};
}

std::string Session::job_text() const {
  return fmt::format("{} {}{}", launcher_->job_word(), job_.value_or(folder_.path().filename().string()),
                     view_.what.empty() ? "" : " (" + view_.what + ")");
}

std::string Session::end_text() const {
  return fmt::format("{} ended{}", job_text(), view_.nodes.empty() ? "" : " on " + view_.nodes);
}

std::string Session::log_text() const {
  const auto lines = log_tail(folder_.log(), 1);
  return lines.empty() ? "" : fmt::format("{} ({})", lines.front(), folder_.log().string());
}

void Session::ask_to_end() {
  folder_.set(SessionFolder::Mark::cancel);
  looked_ = {};
  if (job_ && look().state == JobState::queued) launcher_->cancel(*job_);
}

void Session::cancel_job() {
  const auto now = Clock::now();
  if (!job_ || ended() || (cancelled_ != Clock::time_point{} && now - cancelled_ < kBetweenCancels)) return;
  cancelled_ = now;
  launcher_->cancel(*job_);
  looked_ = {};
}

void Session::close() {
  folder_.set(SessionFolder::Mark::complete);
  folder_.set(SessionFolder::Mark::closed);
}

}  // namespace perfbench::harness
