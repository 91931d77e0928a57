#include "harness/execute/machine_load.h"

#include <fmt/core.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

// The fields are: user nice system idle iowait irq softirq steal. The guest times that follow are included in user and
// nice.
constexpr std::size_t kIdle = 3;
constexpr std::size_t kIoWait = 4;
constexpr std::size_t kSteal = 7;
// Indices of fields in /proc/PID/stat after the name, which may itself contain spaces and parentheses.
constexpr std::size_t kUserTime = 11;
constexpr std::size_t kSystemTime = 12;

CpuSnapshot::Core read_ticks(std::istringstream& words) {
  CpuSnapshot::Core core;
  std::int64_t ticks = 0;
  for (std::size_t i = 0; i <= kSteal && words >> ticks; ++i) {
    core.total_ticks += ticks;
    if (i == kSteal) {
      core.steal_ticks = ticks;
    } else if (i != kIdle && i != kIoWait) {
      core.busy_ticks += ticks;
    }
  }
  return core;
}

void read_totals(const fs::path& root, CpuSnapshot& snapshot) {
  std::ifstream file(root / "proc/stat");
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    const auto core = read_ticks(words);
    if (name == "cpu") {
      snapshot.total_ticks = core.total_ticks;
      snapshot.steal_ticks = core.steal_ticks;
    } else {
      ++snapshot.cores;
      snapshot.by_core[std::atoll(name.c_str() + 3)] = core;
    }
  }
}

std::optional<CpuSnapshot::Process> read_process(const fs::path& stat) {
  std::ifstream file(stat);
  // Does not use iterators, which throw if the process ends while its file is read.
  std::string text;
  std::getline(file, text, '\0');
  const auto open = text.find('(');
  const auto close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;  // the process has ended
  std::istringstream words(text.substr(close + 1));
  CpuSnapshot::Process process{.name = text.substr(open + 1, close - open - 1)};
  std::string word;
  for (std::size_t i = 0; i <= kSystemTime && words >> word; ++i) {
    if (i == kUserTime || i == kSystemTime) process.ticks += std::atoll(word.c_str());
  }
  return process;
}

}  // namespace

CpuSnapshot read_cpu_snapshot(const fs::path& root) {
  CpuSnapshot snapshot;
  read_totals(root, snapshot);
  std::error_code error;
  for (fs::directory_iterator entry(root / "proc", error), end; !error && entry != end; entry.increment(error)) {
    const auto name = entry->path().filename().string();
    std::int64_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    if (auto process = read_process(entry->path() / "stat")) snapshot.processes.emplace(pid, *std::move(process));
  }
  return snapshot;
}

CpuActivity activity_between(const CpuSnapshot& before, const CpuSnapshot& after, std::int64_t self) {
  CpuActivity activity;
  const auto total = static_cast<double>(after.total_ticks - before.total_ticks);
  if (total <= 0 || after.cores == 0) return activity;
  activity.steal_fraction = static_cast<double>(after.steal_ticks - before.steal_ticks) / total;
  const double ticks_per_core = total / static_cast<double>(after.cores);
  for (const auto& [pid, process] : after.processes) {
    const auto earlier = before.processes.find(pid);
    const auto ticks = process.ticks - (earlier == before.processes.end() ? 0 : earlier->second.ticks);
    const double cores = static_cast<double>(ticks) / ticks_per_core;
    if (pid != self && cores >= kBusyCores) activity.busy.push_back({pid, process.name, cores});
  }
  std::stable_sort(activity.busy.begin(), activity.busy.end(),
                   [](const BusyProcess& a, const BusyProcess& b) { return a.cores > b.cores; });
  return activity;
}

namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double charged_s(int who) {
  rusage usage{};
  return getrusage(who, &usage) == 0 ? seconds(usage.ru_utime) + seconds(usage.ru_stime) : 0;
}

CpuSnapshot::Core sum_of(const CpuSnapshot& snapshot, const std::vector<std::int64_t>& cores) {
  CpuSnapshot::Core sum;
  for (const auto number : cores) {
    const auto core = snapshot.by_core.find(number);
    if (core == snapshot.by_core.end()) continue;
    sum.total_ticks += core->second.total_ticks;
    sum.busy_ticks += core->second.busy_ticks;
    sum.steal_ticks += core->second.steal_ticks;
  }
  return sum;
}

}  // namespace

LoadMoment load_moment() {
  return {.cpus = read_cpu_snapshot("/"), .own_s = charged_s(RUSAGE_SELF) + charged_s(RUSAGE_CHILDREN)};
}

std::vector<std::int64_t> own_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<std::int64_t> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(static_cast<std::int64_t>(core));
  }
  return cores;
}

ForeignLoad load_between(const LoadMoment& before, const LoadMoment& after, const std::vector<std::int64_t>& cores,
                         double ticks_per_s, std::int64_t self) {
  const auto first = sum_of(before.cpus, cores);
  const auto last = sum_of(after.cpus, cores);
  if (last.total_ticks - first.total_ticks < kFewestTicks) return {};
  const auto total = static_cast<double>(last.total_ticks - first.total_ticks);
  const double own_ticks = (after.own_s - before.own_s) * ticks_per_s;
  const double others = static_cast<double>(last.busy_ticks - first.busy_ticks) - own_ticks;
  ForeignLoad load{.steal_fraction = static_cast<double>(last.steal_ticks - first.steal_ticks) / total,
                   .foreign_fraction = std::max(0.0, others / total)};
  const auto busy = activity_between(before.cpus, after.cpus, self).busy;
  if (!busy.empty()) {
    load.busiest = fmt::format("{} (pid {}) on {:.2f} cores", busy[0].name, busy[0].pid, busy[0].cores);
  }
  return load;
}

ForeignLoad load_since(const LoadMoment& before) {
  return load_between(before, load_moment(), own_cores(), static_cast<double>(sysconf(_SC_CLK_TCK)), getpid());
}

}  // namespace perfbench::harness
