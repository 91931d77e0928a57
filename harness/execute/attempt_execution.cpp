#include "harness/execute/attempt_execution.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "harness/evidence/attempt.h"
#include "harness/evidence/evidence_file.h"
#include "harness/evidence/run_directory.h"
#include "harness/evidence/run_evidence.h"
#include "harness/execute/classify.h"
#include "harness/execute/container.h"
#include "harness/execute/program_start.h"
#include "harness/execute/steps_watch.h"
#include "harness/system/place_names.h"
#include "harness/system/sha256.h"
#include "harness/system/utc.h"
#include "reports/render/format/print.h"
#include "workloads/spec/program_json.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/run_program.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kTailLines = 40;

// Number of processes that the kernel has killed since boot because memory ran out.
std::int64_t kernel_memory_kills() {
  std::ifstream in("/proc/vmstat");
  std::string name;
  for (std::int64_t count = 0; in >> name >> count;) {
    if (name == "oom_kill") return count;
  }
  return 0;
}

std::optional<spec::ProgramResult> read_program_result(const fs::path& directory) {
  try {
    return read_document(directory / kResultFile, spec::parse_program_result);
  } catch (const DamagedFile&) {
    return std::nullopt;
  } catch (const spec::SpecError&) {
    return std::nullopt;
  }
}

std::optional<spec::RunSummary> read_summary(const fs::path& directory) {
  spec::RunSummary broken;
  broken.status = spec::enum_name(spec::EngineExit::failed);
  try {
    return read_document(directory / kResultFile, spec::parse_run_summary);
  } catch (const DamagedFile& e) {
    broken.message = e.what();
  } catch (const spec::SpecError& e) {
    broken.message = fmt::format("{} {} {}", kResultFile, e.pointer(), e.what());
  }
  // equivalent to a missing file; the reason says why
  return broken;
}

// Describes records that the engine damaged or replaced, one sentence for each file. read_summary handles result.json.
std::vector<std::string> damaged_files(const fs::path& directory, std::int64_t ranks) {
  std::vector<std::string> out;
  try {
    read_document(directory / kEnvironmentFile, spec::parse_environment);
  } catch (const DamagedFile& e) {
    out.emplace_back(e.what());
  } catch (const spec::SpecError&) {
    // written by another version; its reader reports that
  }
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    try {
      spec::RegularFile::open(directory / steps_file(rank), spec::kLargestRecordsBytes);
    } catch (const spec::FileError& e) {
      out.push_back(steps_file(rank) + " " + e.trouble());
    }
  }
  return out;
}

// The engine may have removed the attempt's folder, or put a file or a link to another place in its place.
void make_folder_again(const fs::path& directory, std::vector<std::string>& damaged) {
  std::error_code error;
  const auto found = fs::symlink_status(directory, error).type();
  if (found == fs::file_type::directory) return;
  const bool is_gone = found == fs::file_type::not_found;
  damaged.push_back(fmt::format("the attempt's folder was {} while the engine ran", is_gone ? "removed" : "replaced"));
  if (!is_gone) fs::rename(directory, directory.string() + ".replaced", error);
  fs::create_directories(directory, error);  // a failure here appears again when files are written
}

// Restores run.json if the engine changed it, because without it the directory cannot be understood. Removes a folder
// named attempt.json, which would keep the file from being written.
void restore(const fs::path& directory, const Cell& cell, std::vector<std::string>& damaged) {
  std::error_code none;
  for (const auto* name : {kRunFile, kAttemptFile}) {
    const auto file = directory / name;
    if (!fs::is_directory(fs::symlink_status(file, none))) continue;
    fs::rename(file, directory / (std::string(name) + ".folder"), none);
  }
  const auto text = spec::canonical_json(cell.run);
  try {
    if (document_text(directory / kRunFile) == text) return;
  } catch (const DamagedFile&) {
  }
  damaged.push_back(std::string(kRunFile) + " was changed while the engine ran");
  write_atomically(directory / kRunFile, text);
}

// An engine's execution, as observed from outside.
struct Execution {
  ProcessEnd end;
  std::int64_t memory_kills = 0;
  std::int64_t steps_recorded = 0;  // by rank 0
};

AttemptOutcome judge_program(const Cell& cell, const ExecutionSettings& settings, const fs::path& directory,
                             Execution seen) {
  std::vector<std::string> damaged;
  make_folder_again(directory, damaged);
  restore(directory, cell, damaged);
  return classify({.end = std::move(seen.end),
                   .summary = {},
                   .log_lines = log_tail(directory / kLogFile, kTailLines),
                   .steps_recorded = seen.steps_recorded,
                   .steps_wanted = cell.run.program->spec.steps,
                   .memory_limit_bytes = settings.memory_limit_bytes,
                   .time_limit = settings.time_limit,
                   .kernel_memory_kills = seen.memory_kills,
                   .damaged_files = std::move(damaged),
                   .gpu_trouble = {},
                   .finiteness = {},
                   .is_program = true,
                   .program_result = read_program_result(directory)});
}

AttemptOutcome judge(const Cell& cell, const ExecutionSettings& settings, const fs::path& directory, Execution seen) {
  if (cell.run.program) return judge_program(cell, settings, directory, std::move(seen));
  std::vector<std::string> damaged;
  make_folder_again(directory, damaged);
  for (auto& file : damaged_files(directory, cell.run.mesh.devices())) damaged.push_back(std::move(file));
  restore(directory, cell, damaged);
  return classify({.end = std::move(seen.end),
                   .summary = read_summary(directory),
                   .log_lines = log_tail(directory / kLogFile, kTailLines),
                   .launcher_messages = launcher_messages(directory / kLogFile),
                   .ranks = cell.run.mesh.devices(),
                   .steps_recorded = seen.steps_recorded,
                   .steps_wanted = cell.run.steps,
                   .memory_limit_bytes = settings.memory_limit_bytes,
                   .time_limit = settings.time_limit,
                   .kernel_memory_kills = seen.memory_kills,
                   .damaged_files = std::move(damaged),
                   .gpu_trouble = spec::gpu_trouble(read_gpu_samples(directory, cell.run.mesh.devices()).samples),
                   .finiteness = finiteness_of_steps(directory, cell.run.mesh.devices())});
}

// Empty if the program did not start, or its record is damaged.
std::string digest_of_started(const fs::path& directory) {
  try {
    const auto program = read_document(directory / spec::kProgramFile, spec::parse_program_spec);
    return program ? program_digest(*program) : std::string();
  } catch (const DamagedFile&) {
    return {};
  } catch (const spec::SpecError&) {
    return {};
  }
}

AttemptDirectory prepare(const Cell& cell, const ExecutionSettings& settings) {
  const auto directory = create_attempt(settings.runs, cell.run_id);
  write_atomically(directory.path / kRunFile, spec::canonical_json(cell.run));
  return directory;
}

FinishedAttempt complete(const AttemptDirectory& directory, AttemptRecord record) {
  write_atomically(directory.path / kAttemptFile, to_json_line(record));
  return {directory.path, std::move(record)};
}

// Throws LaunchError.
FinishedAttempt execute_in(const AttemptDirectory& directory, const Cell& cell, const ExecutionSettings& settings,
                           const StepsListener& on_steps, AttemptRecord record) {
  std::vector<std::string> last_command;
  if (cell.run.program) {
    ProgramPlace place{.repo = cell.program_repo, .cwd = fs::current_path()};
    const bool on_every_node = starts_on_every_node(cell.run);
    if (on_every_node) {
      place.coordinator = coordinator_of_job();
      place.node_rank = kNodeRankTemplate;
    }
    auto program = program_to_start(cell.run, place, directory.path);
    record.engine_sha256 = program_digest(program);
    if (on_every_node) {
      launch_on_nodes(program, cell.run.mesh.dcn.size(), settings.launcher.adapter.file);
    } else {
      launch_ranks(program);
    }
    last_command = container_removal(program, directory.path);
    enter_container(program, directory.path);
    write_atomically(directory.path / spec::kProgramFile, spec::to_json_line(program) + "\n");
  }
  auto request = settings.launcher.request(cell.run, directory.path);
  request.largest_file_bytes = spec::kLargestRecordsBytes;  // larger files would not be read
  request.last_command = std::move(last_command);
  record.command = request.command;
  const bool is_program = cell.run.program != nullptr;
  StepsWatch steps(directory.path, is_program);
  const auto kills_before = kernel_memory_kills();
  auto end = run_process(request, {.time_limit = settings.time_limit,
                                   .paused = settings.paused,
                                   .memory_limit_bytes = settings.memory_limit_bytes,
                                   .grace = settings.grace,
                                   .cancel_fd = settings.cancel_fd,
                                   .on_tick = [&] { on_steps(steps.count()); },
                                   .on_start = settings.on_start});
  record.wall_ns = end.wall_ns;
  const bool cancel_seen = end.cancel_seen;
  // Counted again, because files that existed while the engine ran may be gone.
  const auto outcome = judge(cell, settings, directory.path,
                             {.end = std::move(end),
                              .memory_kills = kernel_memory_kills() - kills_before,
                              .steps_recorded = StepsWatch(directory.path, is_program).count()});
  record.state = outcome.state;
  record.reason = outcome.reason;
  record.exit_code = outcome.exit_code;
  record.signal = outcome.signal;
  FinishedAttempt finished{directory.path, std::move(record)};
  if (!settings.may_record || settings.may_record(finished.record.state, cancel_seen))
    finished = complete(directory, std::move(finished.record));
  finished.cancel_seen = cancel_seen;
  return finished;
}

}  // namespace

AttemptRecord new_record(const Cell& cell, const ExecutionSettings& settings, std::int64_t attempt) {
  AttemptRecord record;
  record.run_id = cell.run_id;
  record.attempt = attempt;
  record.started_utc = utc_now();
  record.matrix = cell.matrix;
  record.cell = cell.label;
  record.axes = {cell.axes.begin(), cell.axes.end()};
  record.sweep_id = settings.sweep_id;
  record.sweep_kind = settings.sweep_kind;
  record.engine_sha256 = settings.engine_sha256;
  record.repeats = settings.repeats;
  record.perfbench_version = settings.perfbench_version;
  record.only = settings.only;
  record.words = settings.words;
  record.job = settings.job;
  return record;
}

std::string engine_sha256(const fs::path& engine) {
  try {
    const auto bytes = read_file(engine);
    return bytes ? sha256_hex(*bytes) : std::string();
  } catch (const RunDirectoryError&) {
    return {};
  }
}

LockOutcome wait_for_machine(const Cell& cell, const ExecutionSettings& settings) {
  if (settings.machine_use == MachineUse::shared || settings.remote != nullptr) return LockOutcome::unavailable;
  const auto say = [](const std::string& text) {
    if (isatty(STDERR_FILENO) != 0) reports::erase_line(stderr);
    reports::print(stderr, "{}\n", text);
  };
  return hold_machine("perfbench (" + cell.matrix + ")", {settings.cancel_fd, say, settings.on_wait});
}

FinishedAttempt execute_attempt(const Cell& cell, const ExecutionSettings& settings, const StepsListener& on_steps) {
  if (settings.remote != nullptr) return settings.remote->execute(cell, settings, on_steps);
  const auto lock = wait_for_machine(cell, settings);
  if (lock == LockOutcome::cancelled) {
    auto out = record_without_execution(cell, settings, AttemptState::cancelled,
                                        "cancelled while it waited for another measurement on this machine");
    out.cancel_seen = true;
    return out;
  }
  const auto directory = prepare(cell, settings);
  if (settings.on_directory) settings.on_directory(directory.path);
  auto record = new_record(cell, settings, directory.attempt);
  record.without_lock = lock != LockOutcome::held;
  try {
    return execute_in(directory, cell, settings, on_steps, record);
  } catch (const LaunchError& e) {
    record.state = AttemptState::crashed;
    record.reason = e.what();
    return complete(directory, std::move(record));
  }
}

FinishedAttempt complete_lost(const AttemptDirectory& directory, const Cell& cell, const ExecutionSettings& settings,
                              AttemptState state, const std::string& reason, const std::string& started_utc) {
  auto record = new_record(cell, settings, directory.attempt);
  record.started_utc = started_utc;
  if (cell.run.program) record.engine_sha256 = digest_of_started(directory.path);
  record.state = state;
  record.reason = reason;
  return complete(directory, std::move(record));
}

FinishedAttempt record_without_execution(const Cell& cell, const ExecutionSettings& settings, AttemptState state,
                                         const std::string& reason) {
  return complete_lost(prepare(cell, settings), cell, settings, state, reason, utc_now());
}

}  // namespace perfbench::harness
