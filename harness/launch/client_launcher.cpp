#include "harness/launch/client_launcher.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "harness/execute/container.h"
#include "harness/execute/launcher.h"
#include "harness/execute/machine_lock.h"
#include "harness/execute/process.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {
namespace {

constexpr std::chrono::seconds kFarewell{3};

// Follows a client in a thread of its own.
class Client {
 public:
  explicit Client(ProcessRequest request) : process_(request), thread_([this] { follow(); }) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  // A worker whose session is closed ends by itself.
  ~Client() {
    pollfd watched{.fd = ended_.fd(), .events = POLLIN, .revents = 0};
    poll(&watched, 1, static_cast<int>(std::chrono::milliseconds(kFarewell).count()));
    cancel();
    thread_.join();
  }

  void cancel() { cancel_.add(); }
  bool ended() const { return has_ended_; }
  // Valid once the client has ended.
  const ProcessEnd& end() const { return end_; }

 private:
  void follow() {
    try {
      end_ = process_.wait({.grace = std::chrono::seconds(10), .cancel_fd = cancel_.fd()});
    } catch (const std::exception&) {
      end_.exit_code = EXIT_FAILURE;
    }
    has_ended_ = true;
    ended_.add();
  }

  Event cancel_;
  ProcessEnd end_;
  std::atomic<bool> has_ended_ = false;
  Event ended_;
  Process process_;
  std::thread thread_;  // last: it uses the others
};

class ClientLauncher : public JobLauncher {
 public:
  bool jobs_outlive_harness() const override { return false; }

  std::string submit(const JobRequest& job) override {
    auto request = client(job);
    request.output_file = job.log;
    clients_[job.name] = std::make_unique<Client>(std::move(request));
    return job.name;
  }

  // The client of an earlier harness has ended with it.
  std::optional<std::string> find(const std::string& /*name*/) override { return std::nullopt; }

  JobView look(const std::string& job) override {
    const auto found = clients_.find(job);
    if (found == clients_.end()) return lost();
    if (!found->second->ended()) return {.state = JobState::running, .what = "", .nodes = nodes()};
    const auto& end = found->second->end();
    return {.state = JobState::ended,
            .what = end.signal != 0 ? fmt::format("signal {}", end.signal) : fmt::format("exit code {}", end.exit_code),
            .nodes = nodes(),
            .unfinished = unfinished(end),
            .is_out_of_sight = may_run_on(end)};
  }

  void cancel(const std::string& job) override {
    if (const auto found = clients_.find(job); found != clients_.end()) found->second->cancel();
  }

 protected:
  virtual ProcessRequest client(const JobRequest& job) const = 0;
  virtual std::string nodes() const = 0;
  // Whether the job may run on although its client has ended.
  virtual bool may_run_on(const ProcessEnd& /*end*/) const { return false; }
  virtual AttemptState unfinished(const ProcessEnd& end) const {
    return end.cause == EndCause::cancelled ? AttemptState::cancelled : AttemptState::crashed;
  }

 private:
  static JobView lost() {
    return {.state = JobState::ended, .what = "ended with its harness", .unfinished = AttemptState::cancelled};
  }

  std::map<std::string, std::unique_ptr<Client>> clients_;
};

class Ssh : public ClientLauncher {
 public:
  explicit Ssh(LaunchRequest request) : host_(std::move(request.place)) {
    if (host_.empty() || host_.starts_with('-')) {
      throw InputError("[launch] --launcher ssh: '" + host_ + "' is not the name of a host");
    }
    if (!find_in_path("ssh")) throw InputError("[launch] --launcher ssh: ssh is not in PATH; install openssh-client");
  }

  std::string job_word() const override { return "ssh session"; }

 protected:
  ProcessRequest client(const JobRequest& job) const override { return {.command = ssh_command(host_, job.command)}; }
  std::string nodes() const override { return host_; }
  // ssh's own code for a lost connection. sshd may take minutes to notice it.
  bool may_run_on(const ProcessEnd& end) const override { return end.exit_code == 255; }

 private:
  std::string host_;
};

class ContainerRuntime : public ClientLauncher {
 public:
  explicit ContainerRuntime(LaunchRequest request) : request_(std::move(request)) {
    if (request_.image.empty()) {
      throw InputError(
          fmt::format("[launch] --launcher {}: name an image that has perfbench with --image, such as "
                      "--image localhost/perfbench",
                      request_.launcher));
    }
    try {
      image_id_ = image_id(request_.launcher, request_.image);
    } catch (const LaunchError& e) {
      throw InputError(e.what());
    }
  }

  std::string job_word() const override { return "container"; }
  std::string image() const override { return image_id_; }

 protected:
  ProcessRequest client(const JobRequest& job) const override {
    const auto runs = job.log.parent_path().parent_path().parent_path().string();
    if (runs.find(':') != std::string::npos) {
      throw LaunchError("[launch] a container cannot mount " + runs + ", because its name has a colon: rename it");
    }
    const auto& runtime = request_.launcher;
    // --init: the first process of a container ignores signals unless it handles them.
    std::vector<std::string> command{
        runtime, "run", "--rm", "--init", "--pull=never", "--name=" + job.name, "--volume=" + runs + ":" + runs};
    // All containers of a machine share its lock.
    if (const auto lock = machine_lock_file(); lock && MachineLock(*lock).open()) {
      command.push_back("--volume=" + lock->string() + ":" + lock->string());
      command.push_back("--env=PERFBENCH_LOCK=" + lock->string());
    }
    // The worker writes run directories as the user of this process. Podman maps that user to its root.
    command.push_back(runtime == "podman" ? "--user=0:0" : fmt::format("--user={}:{}", geteuid(), getegid()));
    command.insert(command.end(), request_.options.begin(), request_.options.end());
    command.insert(command.end(), {"--entrypoint=perfbench", request_.image});
    command.insert(command.end(), job.command.begin() + 1, job.command.end());
    // A killed client leaves its container alive.
    std::vector<std::string> removal{runtime, "rm", "--force", job.name};
    if (runtime == "podman") removal.emplace_back("--time=0");
    return {.command = std::move(command), .last_command = std::move(removal)};
  }

  std::string nodes() const override { return ""; }

  // 128 + SIGKILL. A runtime does not always say that the kernel killed for memory, but little else kills.
  AttemptState unfinished(const ProcessEnd& end) const override {
    return end.exit_code == 137 ? AttemptState::out_of_memory : ClientLauncher::unfinished(end);
  }

 private:
  LaunchRequest request_;
  std::string image_id_;
};

bool is_plain_word(const std::string& word) {
  constexpr std::string_view kPlain = "./_-+=,:@%";
  return !word.empty() && std::all_of(word.begin(), word.end(), [&](unsigned char c) {
    return std::isalnum(c) != 0 || kPlain.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

}  // namespace

std::vector<std::string> ssh_command(const std::string& host, const std::vector<std::string>& worker) {
  // -tt: the remote worker is told when its client ends, however that happens.
  std::vector<std::string> out{"ssh", "-tt", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", host, "--"};
  for (const auto& word : worker) {
    if (!is_plain_word(word)) {
      throw InputError(
          fmt::format("[launch] --launcher ssh: '{}' has a character that a shell would interpret; use "
                      "paths of letters, digits and ./_-+=,:@%",
                      word));
    }
    out.push_back(word);
  }
  return out;
}

std::unique_ptr<JobLauncher> ssh_launcher(const LaunchRequest& request) {
  return std::make_unique<Ssh>(request);
}

std::unique_ptr<JobLauncher> container_launcher(const LaunchRequest& request) {
  return std::make_unique<ContainerRuntime>(request);
}

}  // namespace perfbench::harness
