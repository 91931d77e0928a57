#include "harness/execute/classify.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string_view>

#include "workloads/spec/regular_file.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kTailBytes = 16384;

bool says_something(const std::string& line) {
  return line.find_first_not_of(" -=*\t\r") != std::string::npos;
}

// Empty if there is no log, or something else in its place.
std::string end_of(const std::filesystem::path& log) {
  try {
    const auto file = spec::RegularFile::open(log);
    if (!file) return {};
    std::string text(kTailBytes, '\0');
    const auto begin = std::max<std::int64_t>(0, file->bytes() - static_cast<std::int64_t>(kTailBytes));
    text.resize(file->read_at(begin, text.data(), text.size()));
    return text;
  } catch (const spec::FileError&) {
    return {};
  }
}

// mpirun writes "process rank 1 with PID 42 on node n1 exited on signal 9 (Killed)".
constexpr std::string_view kRank = "process rank ";
constexpr std::string_view kSignal = " exited on signal ";

// The number that follows `words`, which begin at `at` in the line.
std::optional<std::int64_t> number_after(std::string_view line, std::size_t at, std::string_view words) {
  if (at == std::string_view::npos) return std::nullopt;
  std::int32_t number = 0;
  const auto text = line.substr(at + words.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return std::nullopt;
  return number;
}

}  // namespace

std::vector<std::string> log_tail(const std::filesystem::path& log, std::size_t count) {
  std::vector<std::string> lines;
  std::istringstream end(end_of(log));
  for (std::string line; std::getline(end, line);) {
    if (says_something(line)) lines.push_back(line);
  }
  if (lines.size() > count) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(count));
  return lines;
}

std::vector<std::string> launcher_messages(const std::filesystem::path& log) {
  const auto is_frame = [](const std::string& line) {
    constexpr std::size_t kShortestFrame = 40;
    return line.size() >= kShortestFrame && line.find_first_not_of('-') == std::string::npos;
  };
  std::vector<std::string> lines;
  std::istringstream end(end_of(log));
  for (std::string line; std::getline(end, line);) lines.push_back(line);
  // Frames come in pairs. If their number is odd, the first one closes a message that began before this part of the
  // log.
  bool is_within = std::count_if(lines.begin(), lines.end(), is_frame) % 2 != 0;
  std::vector<std::string> out;
  for (const auto& line : lines) {
    if (is_frame(line)) {
      is_within = !is_within;
      if (is_within) out.emplace_back();
      continue;
    }
    const auto begin = line.find_first_not_of(" \t\r");
    if (!is_within || out.empty() || begin == std::string::npos) continue;
    out.back() += (out.back().empty() ? "" : " ") + line.substr(begin);
  }
  return out;
}

std::optional<RankSignal> reported_signal(const std::vector<std::string>& lines) {
  for (const auto& line : lines) {
    const auto rank = number_after(line, line.find(kRank), kRank);
    const auto signal = number_after(line, line.rfind(kSignal), kSignal);
    if (rank && signal) return RankSignal{*rank, static_cast<int>(*signal)};
  }
  return std::nullopt;
}

namespace {

constexpr int kShellSignalBase = 128;  // a launcher that passes on a rank's signal exits with 128 + signal
constexpr std::size_t kLongestReason = 500;

double gibibytes(std::int64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(std::int64_t{1} << 30);
}

std::string progress(const AttemptEvidence& evidence) {
  if (evidence.steps_wanted == 0) return fmt::format("after {} steps", evidence.steps_recorded);
  return fmt::format("after {} of {} steps", evidence.steps_recorded, evidence.steps_wanted);
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  if (text.size() > kLongestReason) text = text.substr(0, kLongestReason) + "...";
  return text;
}

// "[node:1234] ...", with which Open MPI's libraries begin the lines that locate a problem inside them.
bool is_library_trace(const std::string& line) {
  const auto end = line.find(']');
  const auto colon = line.rfind(':', end);
  if (!line.starts_with('[') || end == std::string::npos || colon == std::string::npos || colon + 1 >= end)
    return false;
  return line.find_first_not_of("0123456789", colon + 1) == end;
}

// Messages that say that a rank has failed, but not why.
bool is_general(const std::string& message) {
  constexpr std::array kBeginnings{"Primary job", "mpirun detected that one", "mpirun noticed that", "prterun detected",
                                   "prterun noticed"};
  return std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [&message](const char* beginning) { return message.starts_with(beginning); });
}

// The line of the log that says why the run failed. It is the engine's own last message, or else the last line that did
// not come from the launcher, or else the launcher's first message.
std::string cause_in(const AttemptEvidence& evidence) {
  const auto& lines = evidence.log_lines;
  const auto engine = std::find_if(lines.rbegin(), lines.rend(), [](const std::string& line) {
    return line.find("perfbench-engine:") != std::string::npos;
  });
  if (engine != lines.rend()) return *engine;
  const auto& messages = evidence.launcher_messages;
  const auto other = std::find_if(lines.rbegin(), lines.rend(), [&messages](const std::string& line) {
    if (is_library_trace(line)) return false;
    const auto text = line.substr(std::min(line.size(), line.find_first_not_of(" \t\r")));
    return std::none_of(messages.begin(), messages.end(),
                        [&text](const std::string& message) { return message.find(text) != std::string::npos; });
  });
  if (other != lines.rend()) return *other;
  const auto message = std::find_if_not(messages.begin(), messages.end(), is_general);
  if (message != messages.end()) return *message;
  const auto trace = std::find_if(lines.begin(), lines.end(), is_library_trace);
  return trace != lines.end() ? *trace : lines.back();
}

// The last message of the engine, or else of its launcher.
std::string last_words(const AttemptEvidence& evidence) {
  if (evidence.summary && !evidence.summary->message.empty()) return ": " + evidence.summary->message;
  return evidence.log_lines.empty() ? "; its log is empty" : ": " + cause_in(evidence);
}

RankSignal signal_seen(const AttemptEvidence& evidence) {
  if (evidence.end.signal != 0) return {.rank = -1, .signal = evidence.end.signal};
  if (evidence.ranks == 1) return {.rank = -1};
  if (const auto reported = reported_signal(evidence.log_lines)) return *reported;
  const int beyond = evidence.end.exit_code - kShellSignalBase;
  return {.rank = -1, .signal = beyond > 0 && beyond < NSIG ? beyond : 0};
}

AttemptOutcome ended_by_signal(const AttemptEvidence& evidence, const RankSignal& seen) {
  const std::string who = seen.rank < 0 ? "the engine" : fmt::format("rank {}", seen.rank);
  const auto what =
      fmt::format("{} was ended by signal {} ({}) {}", who, seen.signal, strsignal(seen.signal), progress(evidence));
  if (seen.signal == SIGKILL && evidence.kernel_memory_kills > 0) {
    return {AttemptState::out_of_memory, what + "; the kernel killed processes of this node because memory ran out"};
  }
  if (seen.signal == SIGXFSZ) {
    return {AttemptState::crashed, fmt::format("{}; no file of a run may hold more than {:g} GiB", what,
                                               gibibytes(spec::kLargestRecordsBytes))};
  }
  return {AttemptState::crashed, what + last_words(evidence)};
}

// The outcome from the engine's own result or, if it left none, from its exit code.
AttemptOutcome ended_by_itself(const AttemptEvidence& evidence) {
  const auto code = evidence.end.exit_code;
  const auto status = evidence.summary ? evidence.summary->status : std::string();
  const auto is = [&](spec::EngineExit exit) {
    return status == spec::enum_name(exit) || (status.empty() && code == static_cast<int>(exit));
  };
  if (is(spec::EngineExit::out_of_memory)) {
    return {AttemptState::out_of_memory, "the engine ran out of memory " + progress(evidence) + last_words(evidence)};
  }
  if (is(spec::EngineExit::infeasible)) {
    return {AttemptState::infeasible, "the engine reports that the run is infeasible" + last_words(evidence)};
  }
  if (is(spec::EngineExit::input_error)) {
    return {AttemptState::crashed, "the engine rejects its input" + last_words(evidence)};
  }
  if (code == 0 && status.empty()) {
    return {AttemptState::crashed, "the engine ended without result.json " + progress(evidence) + last_words(evidence)};
  }
  if (code != 0) {
    return {AttemptState::crashed, fmt::format("exit code {} {}{}", code, progress(evidence), last_words(evidence))};
  }
  if (status != spec::enum_name(spec::EngineExit::ok))
    return {AttemptState::crashed, "the engine failed " + progress(evidence) + last_words(evidence)};
  if (!evidence.damaged_files.empty()) return {AttemptState::crashed, "the engine reports ok, but left damaged files"};
  if (evidence.steps_recorded != evidence.steps_wanted) {
    return {AttemptState::quarantined, fmt::format("the engine reports ok, but its records have only {} of {} steps",
                                                   evidence.steps_recorded, evidence.steps_wanted)};
  }
  // A loss that is not finite is the most important fact, even if GPU trouble spoiled the times.
  if (evidence.finiteness.diverged()) return {AttemptState::diverged, evidence.gpu_trouble.value_or("")};
  if (evidence.gpu_trouble) return {AttemptState::quarantined, *evidence.gpu_trouble};
  return {};
}

// A training program, as its adapter observed it. `seen` is a signal that ended the adapter.
AttemptOutcome ended_program(const AttemptEvidence& evidence, const RankSignal& seen) {
  const auto& result = evidence.program_result;
  if (!result) {
    const auto how = seen.signal != 0 ? fmt::format("was ended by signal {} ({})", seen.signal, strsignal(seen.signal))
                                      : std::string("ended");
    return {AttemptState::crashed,
            "perfbench-adapter " + how + " without result.json " + progress(evidence) + last_words(evidence)};
  }
  AttemptOutcome out{state_of(result->status), result->reason};
  if (result->signal == SIGKILL && evidence.kernel_memory_kills > 0) {
    out = {AttemptState::out_of_memory,
           "the program was killed; the kernel killed processes of this node because memory ran out"};
  }
  if (out.state == AttemptState::ok && !evidence.damaged_files.empty()) {
    out = {AttemptState::crashed, "the program ended well, but left damaged files"};
  }
  for (const auto& note : result->notes) out.reason += (out.reason.empty() ? "" : "; ") + note;
  return out;
}

AttemptOutcome outcome_of(const AttemptEvidence& evidence, const RankSignal& seen) {
  switch (evidence.end.cause) {
    case EndCause::cancelled:
      return {AttemptState::cancelled, "cancelled by the user " + progress(evidence)};
    case EndCause::time_limit:
      return {AttemptState::timed_out, fmt::format("not finished within {:g} s, the limit of a cell; ended {}{}",
                                                   std::chrono::duration<double>(evidence.time_limit).count(),
                                                   progress(evidence), last_words(evidence))};
    case EndCause::memory_limit:
      return {AttemptState::out_of_memory,
              fmt::format("its processes used {:.2f} GiB, the limit is {:.2f} GiB; ended {}",
                          gibibytes(evidence.end.peak_resident_bytes), gibibytes(evidence.memory_limit_bytes),
                          progress(evidence))};
    case EndCause::exited:
      break;
  }
  if (evidence.is_program) return ended_program(evidence, seen);
  return seen.signal != 0 ? ended_by_signal(evidence, seen) : ended_by_itself(evidence);
}

}  // namespace

AttemptState state_of(spec::ProgramStatus status) {
  switch (status) {
    case spec::ProgramStatus::ok:
      return AttemptState::ok;
    case spec::ProgramStatus::quarantined:
      return AttemptState::quarantined;
    case spec::ProgramStatus::diverged:
      return AttemptState::diverged;
    case spec::ProgramStatus::out_of_memory:
      return AttemptState::out_of_memory;
    case spec::ProgramStatus::crashed:
    case spec::ProgramStatus::stopped:
    case spec::ProgramStatus::input_error:
      break;
  }
  return AttemptState::crashed;
}

AttemptOutcome classify(const AttemptEvidence& evidence) {
  const auto seen = signal_seen(evidence);
  auto outcome = outcome_of(evidence, seen);
  for (const auto& damaged : evidence.damaged_files) outcome.reason += "; " + damaged;
  const auto lost = evidence.finiteness.text();
  if (!lost.empty()) outcome.reason = lost + (outcome.reason.empty() ? "" : "; ") + outcome.reason;
  outcome.reason = one_line(outcome.reason);
  outcome.exit_code = evidence.program_result ? evidence.program_result->exit_code : evidence.end.exit_code;
  outcome.signal = evidence.program_result ? evidence.program_result->signal : seen.signal;
  return outcome;
}

}  // namespace perfbench::harness
