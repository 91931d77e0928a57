#include "harness/launch/slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "harness/execute/launcher.h"
#include "harness/launch/launcher_command.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {
namespace {

// The job's script. It runs its arguments, so that no path becomes a part of a shell text.
constexpr const char* kScript = "#!/bin/sh\nexec \"$@\"\n";

// sbatch replaces %j and the like in the name of a log.
std::string without_patterns(const std::string& path) {
  std::string out;
  for (const char c : path) out += c == '%' ? "%%" : std::string(1, c);
  return out;
}

// Returns the word after "key=" in a line, or an empty text if the line does not have the key.
std::string value_of(std::string_view line, std::string_view key) {
  for (std::size_t at = 0; (at = line.find(key, at)) != std::string_view::npos; at += key.size()) {
    if (at != 0 && line[at - 1] != ' ') continue;
    const auto rest = line.substr(at + key.size());
    return std::string(rest.substr(0, rest.find_first_of(" \n")));
  }
  return "";
}

// The states of slurm.schedmd.com/job_state_codes.html that end a job, and what they mean for the attempt that ran.
struct EndState {
  std::string_view name;
  AttemptState unfinished;
  bool may_go_on;
};
constexpr std::array kEndStates{
    EndState{"BOOT_FAIL", AttemptState::crashed, true},
    EndState{"CANCELLED", AttemptState::cancelled, false},
    EndState{"COMPLETED", AttemptState::crashed, false},
    EndState{"DEADLINE", AttemptState::timed_out, false},
    EndState{"FAILED", AttemptState::crashed, false},
    EndState{"NODE_FAIL", AttemptState::crashed, true},
    EndState{"OUT_OF_MEMORY", AttemptState::out_of_memory, true},
    EndState{"PREEMPTED", AttemptState::cancelled, true},
    EndState{"REVOKED", AttemptState::cancelled, false},
    EndState{"TIMEOUT", AttemptState::timed_out, true},
};

class Slurm : public JobLauncher {
 public:
  explicit Slurm(LaunchRequest request) : request_(std::move(request)) {
    for (const auto* program : {"sbatch", "squeue", "scontrol", "scancel"}) {
      if (find_in_path(program)) continue;
      throw InputError(
          fmt::format("[launch] --launcher slurm: {} is not in PATH; start perfbench where Slurm's "
                      "commands are installed, such as on a login node",
                      program));
    }
  }

  std::string job_word() const override { return "Slurm job"; }
  bool jobs_outlive_harness() const override { return true; }

  std::string submit(const JobRequest& job) override {
    const auto script = job.log.parent_path() / "job.sh";
    write_atomically(script, kScript);
    std::vector<std::string> command{"sbatch", "--no-requeue"};
    if (!request_.place.empty()) command.push_back("--partition=" + request_.place);
    command.insert(command.end(), request_.options.begin(), request_.options.end());
    // These must not be changed: a job is found by its name, and its log by its place.
    command.insert(command.end(), {"--parsable", "--open-mode=append", "--job-name=" + job.name,
                                   "--output=" + without_patterns(job.log.string()), script.string()});
    command.insert(command.end(), job.command.begin(), job.command.end());
    const auto end = call_launcher(command);
    if (end.succeeded()) return id_of(end.output);
    // The controller may have taken the job, although its answer was late.
    if (const auto found = find(job.name)) return *found;
    throw LaunchError("[launch] sbatch refused the job: " + message_of(end));
  }

  std::optional<std::string> find(const std::string& name) override {
    const auto end = call_launcher({"squeue", "--noheader", "--states=all", "--name=" + name, "--format=%i"});
    if (!end.succeeded()) throw LaunchError("[launch] squeue does not answer: " + message_of(end));
    auto id = trimmed_end(first_line(end.output));
    return id.empty() ? std::nullopt : std::optional(std::move(id));
  }

  JobView look(const std::string& job) override {
    const auto end = call_launcher({"scontrol", "--oneliner", "show", "job", job});
    if (end.succeeded()) return parse_slurm_job(end.output);
    const auto message = message_of(end);
    // The controller forgets jobs MinJobAge seconds after their end.
    if (message.find("Invalid job id") != std::string::npos) return accounted(job);
    return {.state = JobState::unknown, .what = message};
  }

  void cancel(const std::string& job) override { call_launcher({"scancel", job}); }

 private:
  // "17" or "17;cluster"
  static std::string id_of(const std::string& output) {
    const auto line = trimmed_end(first_line(output));
    return line.substr(0, line.find(';'));
  }

  // The state in the accounting database, which a site may not have.
  static JobView accounted(const std::string& job) {
    const auto end = find_in_path("sacct") ? call_launcher({"sacct", "--noheader", "--parsable2", "--allocations",
                                                            "--duplicates", "--jobs=" + job, "--format=State,NodeList"})
                                           : ProcessEnd{.exit_code = 1};
    JobView out{.state = JobState::ended, .what = "no longer known to Slurm", .is_out_of_sight = true};
    if (!end.succeeded() || trimmed_end(end.output).empty()) return out;
    const auto text = trimmed_end(end.output);
    const auto line = text.substr(text.rfind('\n') + 1);  // the last of a requeued job
    const auto bar = line.find('|');
    auto seen = parse_slurm_job("JobState=" + line.substr(0, line.find_first_of(" |")));
    if (seen.state != JobState::ended) return out;
    seen.nodes = bar == std::string::npos ? "" : line.substr(bar + 1);
    return seen;
  }

  LaunchRequest request_;
};

}  // namespace

JobView parse_slurm_job(std::string_view line) {
  const auto name = value_of(line, "JobState=");
  const auto reason = value_of(line, "Reason=");
  JobView out{.what = name, .nodes = value_of(line, "NodeList=")};
  if (out.nodes == "(null)") out.nodes.clear();
  if (!reason.empty() && reason != "None") out.what += " (" + reason + ")";
  const auto* end =
      std::find_if(kEndStates.begin(), kEndStates.end(), [&](const auto& one) { return one.name == name; });
  if (end != kEndStates.end()) {
    out.state = JobState::ended;
    out.unfinished = end->unfinished;
    out.may_go_on = end->may_go_on;
    out.is_out_of_sight = name == "NODE_FAIL";
  } else if (name == "PENDING" || name == "REQUEUED" || name == "REQUEUE_HOLD" || name == "CONFIGURING") {
    out.state = JobState::queued;
  } else if (!name.empty()) {
    out.is_ending = name == "COMPLETING";
    out.state = JobState::running;  // also COMPLETING, SUSPENDED, STOPPED ...
  }
  return out;
}

std::unique_ptr<JobLauncher> slurm_launcher(const LaunchRequest& request) {
  return std::make_unique<Slurm>(request);
}

}  // namespace perfbench::harness
