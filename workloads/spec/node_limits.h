// How much of its node a process may use, shared by the engine and the harness.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace perfbench::spec {

// The number of cores whose time the control groups of this process allow: the smallest of cpu.max (version 2) or
// cpu.cfs_quota_us (version 1) up the hierarchy; absent without a quota. `root` stands for "/" in tests.
std::optional<double> cgroup_cpu_quota(const std::filesystem::path& root = "/");

// The bytes that the control groups of this process may hold: the smallest of memory.max or memory.limit_in_bytes up
// the hierarchy; absent without a limit.
std::optional<double> cgroup_memory_limit_bytes(const std::filesystem::path& root = "/");

// The whole cores out of `by_affinity` that the quota leaves, at least 1. With more threads than that, the kernel would
// stop them in the middle of a step when the quota is used up.
std::int64_t cores_within_quota(std::int64_t by_affinity, const std::filesystem::path& root = "/");

// Limited by the affinity of the calling thread and by the control group; at least 1.
std::int64_t allowed_cores();

}  // namespace perfbench::spec
