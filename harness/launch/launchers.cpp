#include "harness/launch/launchers.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "harness/launch/client_launcher.h"
#include "harness/launch/kubernetes.h"
#include "harness/launch/slurm.h"
#include "harness/system/input_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

const std::vector<std::string> kLaunchers{"local", "slurm", "ssh", "podman", "docker", "kubernetes"};

}  // namespace

std::unique_ptr<JobLauncher> make_launcher(const LaunchRequest& request) {
  if (request.launcher == "slurm") return slurm_launcher(request);
  if (request.launcher == "ssh") return ssh_launcher(request);
  if (request.launcher == "kubernetes") return kubernetes_launcher(request);
  if (runs_in_image(request.launcher)) return container_launcher(request);
  throw InputError("[launch] unknown launcher '" + request.launcher + "'");
}

std::vector<LaunchRequest> parse_launcher(const std::string& words) {
  const auto colon = words.find(':');
  const auto name = words.substr(0, colon);
  const auto place = colon == std::string::npos ? "" : words.substr(colon + 1);
  const auto complain = [&](const std::string& why) {
    return InputError(fmt::format("[launch] --launcher {}: {}", words, why));
  };
  if (std::find(kLaunchers.begin(), kLaunchers.end(), name) == kLaunchers.end()) {
    const auto near = spec::nearest(name, kLaunchers);
    throw complain(
        fmt::format("there is no launcher '{}'{}; known: local, slurm[:PARTITION], ssh:HOST[,HOST...], "
                    "podman, docker, kubernetes[:NAMESPACE]",
                    name, near ? " (did you mean '" + *near + "'?)" : ""));
  }
  const bool takes_place = name == "slurm" || name == "ssh" || name == "kubernetes";
  if (!takes_place && colon != std::string::npos) throw complain(name + " takes nothing after a colon");
  if (name == "local") return {};
  if (name != "ssh") return {{.launcher = name, .place = place}};
  std::vector<LaunchRequest> out;
  std::istringstream hosts(place);
  for (std::string host; std::getline(hosts, host, ',');) out.push_back({.launcher = name, .place = host});
  if (out.empty()) throw complain("ssh needs a host: --launcher ssh:node1");
  return out;
}

}  // namespace perfbench::harness
