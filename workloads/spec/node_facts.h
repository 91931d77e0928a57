// The facts of the machine for env.json, shared by the engine and the adapter of other programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "workloads/spec/environment.h"

namespace perfbench::spec {

// The facts that the kernel and the distribution report about this node, without those of the process or the build. A
// fact that this system does not report is "unknown" or 0. `root` stands for "/" in tests.
EnvironmentRecord node_facts(const std::filesystem::path& root = "/");

// The value in bytes of a line "key: 12 kB" in a file such as /proc/meminfo; 0 if there is no such line.
std::int64_t kilobytes_in(const std::filesystem::path& file, std::string_view key);

}  // namespace perfbench::spec
