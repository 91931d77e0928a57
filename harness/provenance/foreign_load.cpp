#include "harness/provenance/foreign_load.h"

#include <fmt/core.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace perfbench::harness {
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
