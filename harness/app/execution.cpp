#include "harness/app/execution.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <iostream>

#include "harness/execute/interruption.h"
#include "harness/launch/launchers.h"
#include "harness/launch/site.h"
#include "reports/render/format/print.h"
#include "workloads/build_info/build_info.h"
#include "workloads/spec/node_limits.h"
#include "workloads/spec/process_token.h"

namespace perfbench::harness {
namespace {

// A second interruption cancels.
OnInterrupt ask_about_jobs(Interruption& interruption) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0) return OnInterrupt::cancel;
  reports::print(stderr,
                 "\nc: cancel the jobs; d: leave them running, `--resume` takes over the results; "
                 "anything else: go on. ");
  std::array<pollfd, 2> watched{pollfd{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                pollfd{.fd = interruption.fd(), .events = POLLIN, .revents = 0}};
  poll(watched.data(), watched.size(), -1);
  if (interruption.take()) return OnInterrupt::cancel;
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "c" || !std::cin) return OnInterrupt::cancel;
  return answer == "d" ? OnInterrupt::detach : OnInterrupt::go_on;
}

}  // namespace

std::string new_sweep_id() {
  static int given = 0;
  auto id = fmt::format("{:%Y%m%dT%H%M%SZ}-{}", fmt::gmtime(std::time(nullptr)), spec::process_token());
  return ++given == 1 ? id : fmt::format("{}-{}", id, given);
}

ExecutionSettings execution_settings(const ExecutionOptions& options, SweepKind kind, std::filesystem::path runs,
                                     const Installation& installation) {
  const std::chrono::duration<double> limit(options.timeout_s);
  return {.runs = std::move(runs),
          .launcher = {.engine = {installation.engine},
                       .adapter = {locate_adapter()},
                       .mpirun = find_mpirun(),
                       .cores = spec::allowed_cores()},
          .time_limit = std::chrono::duration_cast<std::chrono::nanoseconds>(limit),
          .memory_limit_bytes = options.memory_limit_bytes,
          .sweep_id = new_sweep_id(),
          .sweep_kind = kind,
          .perfbench_version = std::string(build_info::current().version),
          .machine_use = options.machine_use,
          .remote = options.remote};
}

std::unique_ptr<RemoteSessions> remote_sessions(const LaunchOptions& options, Interruption& interruption, JobUse use) {
  auto places = parse_launcher(options.launcher);
  if (places.empty()) return nullptr;
  const auto site = load_site();
  for (auto& place : places) {
    if (!options.image.empty() && !runs_in_image(place.launcher)) {
      throw InputError("[launch] --image: it is for --launcher podman, docker or kubernetes; --launcher " +
                       options.launcher + " runs the perfbench of its nodes");
    }
    place.image = options.image;
    place.options = options.options;
    place = with_site(std::move(place), site);
  }
  return std::make_unique<RemoteSessions>(RemoteOptions{.places = std::move(places),
                                                        .jobs = options.jobs,
                                                        .one_at_a_time = use == JobUse::one_job,
                                                        .worker = std::filesystem::read_symlink("/proc/self/exe"),
                                                        .ask = [&interruption] { return ask_about_jobs(interruption); },
                                                        .say =
                                                            [](const std::string& text) {
                                                              if (isatty(STDERR_FILENO) != 0)
                                                                reports::erase_line(stderr);
                                                              reports::print(stderr, "{}\n", text);
                                                            }});
}

std::filesystem::path runs_folder(const std::filesystem::path& named, const std::filesystem::path& db) {
  return named.empty() ? std::filesystem::path(db).replace_extension(".runs") : named;
}

}  // namespace perfbench::harness
