#include "workloads/spec/node_limits.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

namespace perfbench::spec {
namespace fs = std::filesystem;
namespace {

// "max 100000" or "200000 100000": quota and period in microseconds.
std::optional<double> quota_v2(const fs::path& group) {
  std::ifstream in(group / "cpu.max");
  double quota_us = 0;
  double period_us = 0;
  if (!(in >> quota_us >> period_us) || period_us <= 0) return std::nullopt;  // "max" is not a number
  return quota_us / period_us;
}

std::optional<double> quota_v1(const fs::path& group) {
  std::ifstream quota(group / "cpu.cfs_quota_us");
  std::ifstream period(group / "cpu.cfs_period_us");
  double quota_us = 0;
  double period_us = 0;
  if (!(quota >> quota_us) || !(period >> period_us) || quota_us <= 0 || period_us <= 0) return std::nullopt;
  return quota_us / period_us;
}

// Reads a file that holds one number; "max" is not a number.
std::optional<double> number_in(const fs::path& file) {
  std::ifstream in(file);
  double number = 0;
  if (!(in >> number)) return std::nullopt;
  return number;
}

std::optional<double> smaller(std::optional<double> a, std::optional<double> b) {
  if (!a) return b;
  return b ? std::min(*a, *b) : a;
}

// The smallest limit of a group and of every group that contains it.
template <class Quota>
std::optional<double> smallest_up(const fs::path& mount, fs::path group, Quota quota) {
  std::optional<double> smallest;
  while (true) {
    smallest = smaller(smallest, quota(mount / group.relative_path()));
    if (!group.has_relative_path()) return smallest;
    group = group.parent_path();
  }
}

// The smallest limit over the groups of this process, in version 2 and of `controller` in version 1.
template <class LimitV2, class LimitV1>
std::optional<double> smallest_limit(const fs::path& root, const std::string& controller, LimitV2 v2, LimitV1 v1) {
  std::optional<double> smallest;
  std::ifstream groups(root / "proc/self/cgroup");  // "0::/user.slice" or "4:cpu,cpuacct:/docker/1f"
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const auto controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = line.substr(second + 1);
    const auto mounts = root / "sys/fs/cgroup";
    if (controllers == ",,") smallest = smaller(smallest, smallest_up(mounts, group, v2));
    if (controllers.find("," + controller + ",") != std::string::npos) {
      smallest = smaller(smallest, smallest_up(mounts / controller, group, v1));
    }
  }
  return smallest;
}

}  // namespace

std::optional<double> cgroup_cpu_quota(const fs::path& root) {
  return smallest_limit(root, "cpu", quota_v2, quota_v1);
}

std::optional<double> cgroup_memory_limit_bytes(const fs::path& root) {
  return smallest_limit(
      root, "memory", [](const fs::path& group) { return number_in(group / "memory.max"); },
      [](const fs::path& group) { return number_in(group / "memory.limit_in_bytes"); });
}

std::int64_t cores_within_quota(std::int64_t by_affinity, const fs::path& root) {
  const auto most = std::max<std::int64_t>(by_affinity, 1);
  const auto quota = cgroup_cpu_quota(root);
  return quota ? static_cast<std::int64_t>(std::clamp(std::floor(*quota), 1.0, static_cast<double>(most))) : most;
}

std::int64_t allowed_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  const std::int64_t by_affinity = known ? CPU_COUNT(&allowed) : 1;
  return cores_within_quota(by_affinity);
}

}  // namespace perfbench::spec
