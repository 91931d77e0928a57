// How much of this node a run may use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace perfbench::harness {

// Cores' worth of time that the control groups of this process allow: the smallest of cpu.max (version 2) or
// cpu.cfs_quota_us (version 1) up the hierarchy; nothing without a quota. `root` stands for "/" in tests.
std::optional<double> cgroup_cpu_quota(const std::filesystem::path& root = "/");

// Bytes that the control groups of this process may hold: the smallest of memory.max or memory.limit_in_bytes up the
// hierarchy; nothing without a limit.
std::optional<double> cgroup_memory_limit_bytes(const std::filesystem::path& root = "/");

// By affinity and control group, at least 1.
std::int64_t allowed_cores();

}  // namespace perfbench::harness
