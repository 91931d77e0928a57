#include "harness/judge/diagnosis.h"

#include <fmt/core.h>

#include <algorithm>

#include "harness/stats/steady.h"

namespace perfbench::harness {
namespace {

constexpr double kGiB = 0x1p30;
// Share of the cores that others may use before a run on all cores is disturbed.
constexpr double kCalmLoad = 0.25;
constexpr double kCalmSteal = 0.01;
constexpr double kScarceMemory = 0.5;
constexpr double kScarceDisk = 2 * kGiB;

Observation good(std::string subject, std::string found) {
  return {std::move(subject), ObservationState::ok, std::move(found), "", ""};
}

Observation engine_finding(const MachineFacts& facts) {
  if (!facts.engine) {
    return {"engine", ObservationState::fail, facts.engine_error, "nothing can run",
            "build it (cmake --build), or set PERFBENCH_ENGINE to its path"};
  }
  const auto& env = *facts.engine;
  const auto found = fmt::format("perfbench-engine {}, {} build, {}", env.engine_version, env.build_type, env.compiler);
  if (env.build_type != "Release") {
    return {"engine", ObservationState::warn, found, "unoptimised code measures the build, not the machine",
            "configure with -DCMAKE_BUILD_TYPE=Release"};
  }
  if (env.git_dirty) {
    return {"engine", ObservationState::warn, found + ", from a modified tree",
            "the recorded commit differs from what runs", "commit, then build again"};
  }
  return good("engine", found);
}

Observation noise_finding(const MachineFacts& facts) {
  const double spread = probe_spread_fraction(facts.probe_ns).value_or(0);
  const auto found = fmt::format("{} probes, spread {:.1f} %", facts.probe_ns.size(), spread * 100);
  if (spread <= most_probe_spread(spec::Device::cpu)) return good("noise probe", found);
  return {"noise probe", ObservationState::warn, found,
          "step times will move by about as much without any change in the code",
          "stop other work on this machine; on a shared host compare in alternating pairs and repeat"};
}

// "ninja (pid 812) on 1.90 cores, cc1plus (pid 815) on 0.95": the three busiest.
std::string busiest(const std::vector<BusyProcess>& busy) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, busy.size()); ++i) {
    text += fmt::format("{}{} (pid {}) on {:.2f} cores", i > 0 ? ", " : "", busy[i].name, busy[i].pid, busy[i].cores);
  }
  return text;
}

Observation load_finding(const MachineFacts& facts) {
  const double cores = facts.engine ? static_cast<double>(facts.engine->cores_allowed) : 1.0;
  const auto& busy = facts.activity.busy;
  auto found = fmt::format("load average {:.2f} on {:.0f} cores", facts.load_1m, cores);
  if (!busy.empty()) found += "; " + busiest(busy);
  if (facts.load_1m <= kCalmLoad * cores && busy.empty()) return good("other work", found);
  return {"other work", ObservationState::warn, found, "ranks wait for cores that others use",
          busy.empty() ? "wait until it is idle" : "wait until they have ended, or stop them"};
}

Observation steal_finding(const MachineFacts& facts) {
  const auto found = fmt::format("{:.1f} % of the cores' time", facts.activity.steal_fraction * 100);
  if (facts.activity.steal_fraction <= kCalmSteal) return good("steal time", found);
  return {"steal time", ObservationState::warn, found,
          "the hypervisor gives the cores to others in the middle of a step",
          "use a machine with dedicated cores, or trust only comparisons in alternating pairs"};
}

Observation cores_finding(const MachineFacts& facts) {
  if (!facts.engine) return good("cores", "unknown without an engine");
  const auto& env = *facts.engine;
  // cores_allowed is the quota in whole cores, unless the affinity allows fewer.
  const auto binding_quota = static_cast<double>(std::min(env.cores_allowed + 1, env.cores_online));
  if (facts.cpu_quota && *facts.cpu_quota < binding_quota) {
    return {"cores", ObservationState::warn,
            fmt::format("a control group allows {:.2f} cores' worth of {}", *facts.cpu_quota, env.cores_online),
            "ranks are stopped in the middle of a step when the quota is used up", "raise the quota of the container"};
  }
  if (env.cores_allowed < env.cores_online) {
    return {"cores", ObservationState::warn, fmt::format("{} of {} cores allowed", env.cores_allowed, env.cores_online),
            "fewer threads than the machine has", "start perfbench outside taskset or numactl, or with all cores"};
  }
  if (facts.shared_cores) {
    return {"cores", ObservationState::warn, fmt::format("{} logical cores, two to a physical core", env.cores_allowed),
            "two threads on one core share its vector units and caches: a step depends on which threads share a core",
            "echo off > /sys/devices/system/cpu/smt/control, or give threads_per_rank the physical cores"};
  }
  return good("cores", fmt::format("{} of {} allowed, no quota", env.cores_allowed, env.cores_online));
}

Observation memory_finding(const MachineFacts& facts) {
  if (!facts.engine) return good("memory", "unknown without an engine");
  const auto installed = static_cast<double>(facts.engine->memory_bytes);
  const auto total = std::min(installed, facts.memory_limit_bytes.value_or(installed));
  const auto free = std::min(total, static_cast<double>(facts.engine->memory_available_bytes));
  const auto found = fmt::format("{:.1f} of {:.1f} GiB available, {:.1f} GiB swapped", free / kGiB, total / kGiB,
                                 static_cast<double>(facts.swap_used_bytes) / kGiB);
  if (facts.swap_used_bytes > 0) {
    return {"memory", ObservationState::warn, found, "a tensor that comes back from swap costs milliseconds",
            "free memory, then swapoff -a"};
  }
  if (total < installed) {
    return {"memory", ObservationState::warn,
            fmt::format("a control group allows {:.1f} of {:.1f} GiB", total / kGiB, installed / kGiB),
            "cells that need more are not run", "raise the memory limit of the container"};
  }
  if (free < kScarceMemory * total) {
    return {"memory", ObservationState::warn, found, "large cells will not fit",
            "end the processes that use the memory"};
  }
  return good("memory", found);
}

Observation governor_finding(const MachineFacts& facts) {
  const auto governor = facts.engine ? facts.engine->governor : "unknown";
  const auto found = fmt::format("governor {}, turbo {}", governor, facts.turbo);
  if (governor != "performance" && governor != "unknown") {
    return {"frequency", ObservationState::warn, found, "the first steps run while the clock ramps up",
            "cpupower frequency-set -g performance"};
  }
  if (facts.turbo == "on") {
    return {"frequency", ObservationState::warn, found, "the clock depends on temperature and on how many cores work",
            "switch turbo off for comparisons: echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"};
  }
  return good("frequency", found);
}

Observation pages_finding(const MachineFacts& facts) {
  const auto setting = facts.engine ? facts.engine->transparent_huge_pages : "unknown";
  if (setting != "never") return good("huge pages", setting);
  return {"huge pages", ObservationState::warn, setting, "large tensors cost more address translations",
          "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"};
}

Observation clock_finding(const MachineFacts& facts) {
  const auto& clock = facts.clock_source;
  if (clock.empty() || clock == "tsc" || clock == "kvm-clock" || clock == "arch_sys_counter") {
    return good("clock", clock.empty() ? "unknown" : clock);
  }
  return {"clock", ObservationState::warn, clock, "reading the time costs about a microsecond",
          "boot with clocksource=tsc"};
}

Observation machine_finding(const MachineFacts& facts) {
  if (!facts.virtual_machine) return good("machine", "no hypervisor");
  return {"machine", ObservationState::warn, "a virtual machine",
          "neighbours on the same cores slow it down by up to half, and steal time does not show it",
          "use a dedicated machine, or trust only comparisons in alternating pairs"};
}

Observation disk_finding(const MachineFacts& facts) {
  const auto free = static_cast<double>(facts.disk_free_bytes);
  const auto found = fmt::format("{:.1f} GiB free", free / kGiB);
  if (free >= kScarceDisk) return good("disk", found);
  return {"disk", ObservationState::warn, found, "records may not be written",
          "free space, or give --runs another disk"};
}

Observation mpi_finding(const MachineFacts& facts) {
  const auto engine = facts.engine ? facts.engine->mpi : "unknown";
  if (facts.mpirun && engine != "absent") return good("MPI", engine);
  return {"MPI", ObservationState::warn,
          fmt::format("mpirun {}, engine: {}", facts.mpirun ? "found" : "not found", engine),
          "cells of more than one rank cannot run",
          "install Open MPI (Debian: openmpi-bin libopenmpi-dev) and build again"};
}

Observation launcher_finding(const MachineFacts& facts) {
  constexpr std::size_t kShownVariables = 3;
  const auto& names = facts.launcher_variables;
  if (names.empty()) return good("launcher", "no launcher around perfbench");
  std::string found = "the environment has ";
  for (std::size_t i = 0; i < std::min(kShownVariables, names.size()); ++i) found += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kShownVariables) found += fmt::format(" and {} more", names.size() - kShownVariables);
  return {"launcher", ObservationState::warn, found,
          "mpirun, srun or torchrun started perfbench, perhaps once for each rank; each copy runs every cell",
          "start perfbench once, without a launcher: it starts the ranks itself, without these variables"};
}

Observation cuda_finding(const MachineFacts& facts) {
  constexpr auto kEffect = "cells with device cuda cannot run";
  if (!facts.engine) return good("CUDA", "unknown");
  const auto& engine = *facts.engine;
  if (engine.gpus > 0) {
    return good("CUDA", fmt::format("{} x {}, driver {}, toolkit {}", engine.gpus, engine.gpu_model, engine.gpu_driver,
                                    engine.cuda));
  }
  if (!facts.cuda_device) {
    return good("CUDA", engine.cuda == "absent" ? "no device, engine without CUDA"
                                                : fmt::format("no device, engine with toolkit {}", engine.cuda));
  }
  if (engine.cuda == "absent") {
    return {"CUDA", ObservationState::warn, "a device, but an engine without CUDA", kEffect,
            "install the CUDA toolkit and build the engine with -DPERFBENCH_CUDA=ON"};
  }
  return {"CUDA", ObservationState::warn, fmt::format("a device that cannot be used: {}", engine.gpu_problem), kEffect,
          "install a driver that matches the toolkit, or let this process see the device"};
}

}  // namespace

std::vector<Observation> diagnose(const MachineFacts& facts) {
  return {engine_finding(facts),   noise_finding(facts),  load_finding(facts),    steal_finding(facts),
          cores_finding(facts),    memory_finding(facts), disk_finding(facts),    governor_finding(facts),
          pages_finding(facts),    clock_finding(facts),  machine_finding(facts), mpi_finding(facts),
          launcher_finding(facts), cuda_finding(facts)};
}

}  // namespace perfbench::harness
