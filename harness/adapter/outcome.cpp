#include "harness/adapter/outcome.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "harness/adapter/secrets.h"

namespace perfbench::adapter {
namespace {

using spec::ProgramStatus;

constexpr std::size_t kLongestReason = 600;

struct KnownText {
  std::string_view text;
  const char* hint;
  ProgramStatus status = ProgramStatus::crashed;
};
constexpr const char* kLessMemory =
    "it ran out of device memory: a smaller batch per device or more recomputation needs less";
constexpr const char* kNoTerminal =
    "it asks for input, but a measured program has no terminal: give the answer as an argument or in a file";
constexpr std::array kKnown{
    KnownText{"CUDA out of memory", kLessMemory, ProgramStatus::out_of_memory},
    KnownText{"RESOURCE_EXHAUSTED", kLessMemory, ProgramStatus::out_of_memory},
    KnownText{"EOFError", kNoTerminal},
    KnownText{"Inappropriate ioctl for device", kNoTerminal},
    KnownText{"/dev/tty", kNoTerminal},
    KnownText{"No module named", "install the module into the environment whose Python the command names"},
    KnownText{"Address already in use", "another program uses the port that it needs"},
    KnownText{"No space left on device", "free some space on the disk to which it writes"},
};

// Recognises "KeyError: 'NAME'" of Python and "NAME: unbound variable" of a shell.
std::string missing_variable(std::string_view line) {
  constexpr std::string_view kKeyError = "KeyError: '";
  constexpr std::string_view kUnbound = ": unbound variable";
  std::string_view name;
  if (const auto at = line.find(kKeyError); at != std::string_view::npos) {
    name = line.substr(at + kKeyError.size());
    name = name.substr(0, name.find('\''));
  } else if (const auto end = line.find(kUnbound); end != std::string_view::npos) {
    name = line.substr(0, end);
    name = name.substr(name.find_last_of(" :") + 1);
  }
  const auto fits = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && std::ranges::all_of(name, fits) ? std::string(name) : std::string();
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  if (text.size() > kLongestReason) text = text.substr(0, kLongestReason) + "...";
  return text;
}

std::string progress_of(const spec::ProgramSpec& program, const readers::Settled& settled) {
  if (program.steps == 0) return "after " + std::to_string(settled.steps) + " steps";
  return "after " + std::to_string(settled.steps) + " of " + std::to_string(program.steps) + " steps";
}

std::string last_words_of(const ProgramEnd& end) {
  std::string text = end.lines == 0 ? "; it printed nothing" : ": " + end.last_line;
  if (end.hint) text += "; " + end.hint->text;
  return text;
}

// Why a program that ended well left no record: the reader does not match, or the program printed nothing.
std::string why_no_records(const spec::ProgramSpec& program, const ProgramEnd& end) {
  if (end.lines == 0 && end.missing_files.empty()) {
    return "it ended well and printed nothing; does it train, and does it print to standard output or error?";
  }
  std::string text = "it ended well, but none of its " + std::to_string(end.lines) + " lines is a record";
  if (!program.reader.empty()) text += " of reader " + program.reader;
  if (!end.other_readers.empty()) {
    text += "; reader " + end.other_readers.front() + " finds records in them";
  } else if (end.lines > 0) {
    text += "; its last line is: " + end.last_line;
  }
  return text;
}

struct Verdict {
  ProgramStatus status = ProgramStatus::ok;
  std::string reason;
};

Verdict verdict_of(const spec::ProgramSpec& program, const ProgramEnd& end, const readers::Settled& settled) {
  const auto progress = progress_of(program, settled);
  const auto failed = end.hint ? end.hint->status : ProgramStatus::crashed;
  if (end.stopped) return {ProgramStatus::stopped, "it was ended from outside " + progress + last_words_of(end)};
  if (end.signal == SIGKILL) {
    return {failed,
            "it was killed " + progress + ": by hand, or by the kernel because memory ran out" + last_words_of(end)};
  }
  if (end.signal != 0) {
    return {failed, "it was ended by signal " + std::to_string(end.signal) + " (" + strsignal(end.signal) + ") " +
                        progress + last_words_of(end)};
  }
  if (end.exit_code != program.finished.exit) {
    return {failed, "exit code " + std::to_string(end.exit_code) + " " + progress + last_words_of(end)};
  }
  if (settled.lost_loss_at) {
    return {ProgramStatus::diverged,
            "the loss is not a finite number at step " + std::to_string(*settled.lost_loss_at)};
  }
  if (!end.missing_files.empty()) return {ProgramStatus::quarantined, end.missing_files.front()};
  const bool wants_records = !program.reader.empty() || !program.metrics.empty() || program.steps > 0;
  if (end.samples == 0 && wants_records) return {ProgramStatus::quarantined, why_no_records(program, end)};
  if (!settled.quarantine.empty()) {
    return {ProgramStatus::quarantined, "it ended well, but " + settled.quarantine + last_words_of(end)};
  }
  if (!program.finished.line.empty() && !end.finished_line_seen) {
    return {ProgramStatus::quarantined,
            "it ended well, but never printed '" + program.finished.line + "'" + last_words_of(end)};
  }
  return {};
}

}  // namespace

std::optional<Hint> hint_in(std::string_view line) {
  for (const auto& known : kKnown) {
    if (line.find(known.text) != std::string_view::npos) return Hint{known.hint, known.status};
  }
  const auto variable = missing_variable(line);
  if (variable.empty()) return std::nullopt;
  return Hint{"set the environment variable " + variable + " where perfbench is started, or in `env` of the program",
              ProgramStatus::crashed};
}

spec::ProgramResult judge_program(const spec::ProgramSpec& program, const ProgramEnd& end,
                                  const readers::Settled& settled) {
  auto [status, reason] = verdict_of(program, end, settled);
  // Slurm's daemon starts the ranks, so they are not processes below the adapter.
  const bool sees_ranks = program.ranks.launched_by != spec::LaunchedBy::srun;
  spec::ProgramResult result{.status = status,
                             .reason = one_line(std::move(reason)),
                             .exit_code = end.exit_code,
                             .signal = end.signal,
                             .steps = settled.steps,
                             .wall_ns = end.wall_ns,
                             .startup_ns = end.startup_ns,
                             .resident_bytes = sees_ranks ? end.resident_bytes : 0,
                             .output_bytes = end.output_bytes,
                             .dropped_bytes = end.dropped_bytes,
                             .samples = end.samples,
                             .restarts = settled.restarts,
                             .children_left = end.children_left,
                             .step_time_resolution_fraction = settled.time_resolution_fraction,
                             .notes = settled.notes};
  for (const auto& note : end.notes) result.notes.push_back(one_line(note));
  if (end.children_left > 0) {
    result.notes.push_back(
        "it left " + std::to_string(end.children_left) +
        " processes behind, which were ended; a program should wait for the processes that it starts");
  }
  if (end.dropped_bytes > 0) {
    result.notes.push_back(std::to_string(end.dropped_bytes) + " of its " + std::to_string(end.output_bytes) +
                           " bytes of output were read but not kept in program.log");
  }
  return result;
}

std::string start_problem(const std::string& command, const std::string& workdir, int error) {
  std::string text = "cannot start '" + command + "' in " + workdir + ": " + std::strerror(error);
  if (error == ENOENT) {
    text += command.find('/') == std::string::npos
                ? "; it is not in PATH: install it, or give its path"
                : "; there is no such file, or its first line names an interpreter that does not exist";
  }
  if (error == EACCES) text += "; make it executable with chmod +x, or name its interpreter first";
  return text;
}

std::string problem_before_start(const spec::ProgramSpec& program, bool with_turns,
                                 const std::vector<std::string>& set_variables) {
  if (program.command.empty() || program.command.front().empty()) {
    return "'command' is empty; it needs a program and its arguments, as a list";
  }
  if (with_turns && !program.turns) {
    return "it cannot take turns: `turns: true` is for programs that call the hook before each step";
  }
  for (const auto& [name, value] : program.env) {
    if (is_secret_name(name)) {
      return "`env` has " + name +
             ", and the values in `env` are recorded: export it where perfbench is started instead";
    }
  }
  for (const auto& name : program.needs) {
    if (std::ranges::find(set_variables, name) == set_variables.end() && !program.env.contains(name)) {
      return "it needs the environment variable " + name + ", which is not set: export it where perfbench is started";
    }
  }
  return "";
}

}  // namespace perfbench::adapter
