// How much of its node a process may use: one answer for the engine and the harness.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace perfbench::spec {

// Cores' worth of time that the control groups of this process allow: the smallest of cpu.max (version 2) or
// cpu.cfs_quota_us (version 1) up the hierarchy; nothing without a quota. `root` stands for "/" in tests.
std::optional<double> cgroup_cpu_quota(const std::filesystem::path& root = "/");

// Bytes that the control groups of this process may hold: the smallest of memory.max or memory.limit_in_bytes up the
// hierarchy; nothing without a limit.
std::optional<double> cgroup_memory_limit_bytes(const std::filesystem::path& root = "/");

// Whole cores of `by_affinity` that the quota leaves, at least 1. More threads than that are stopped in the middle of a
// step when the quota is used up.
std::int64_t cores_within_quota(std::int64_t by_affinity, const std::filesystem::path& root = "/");

// By affinity of the calling thread and control group, at least 1.
std::int64_t allowed_cores();

}  // namespace perfbench::spec
