// The facts of the machine for env.json: one answer for the engine and for the adapter of other programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "workloads/spec/environment.h"

namespace perfbench::spec {

// What the kernel and the distribution say about this node, without anything about the process or the build. A fact
// that this system does not tell is "unknown" or 0. `root` stands for "/" in tests.
EnvironmentRecord node_facts(const std::filesystem::path& root = "/");

// Of a line "key: 12 kB" in a file such as /proc/meminfo, in bytes; 0 without one.
std::int64_t kilobytes_in(const std::filesystem::path& file, std::string_view key);

}  // namespace perfbench::spec
