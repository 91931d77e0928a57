// Classes of machines that are equally fast as far as their facts tell. A night in a container, on a cloud machine or
// after an update of the kernel has another host name, another kernel and slightly more or less memory, but belongs to
// the same series. Such facts are shown to the reader when they change. Machines are of one class if these facts are
// equal:
//
//     cpu_model, cpu_features   the processor and its vector extensions
//     cores_allowed             by affinity and control group
//     governor                  the frequency policy
//     memory_bytes              as memory_class_bytes
//     gpu_model, gpu_memory_bytes (as memory_class_bytes), gpu_driver
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/spec/environment.h"

namespace perfbench::harness {

// The smallest 2^n or 3 * 2^n that is not below `bytes`; 0 for 0. Kernels and hypervisors reserve some per cent of a
// machine's nominal memory, so that the rest lies just below such a size: 7.7 GiB belongs to the class 8 GiB.
std::int64_t memory_class_bytes(std::int64_t bytes);

// The class as text, from all facts of an environment by name: one line for each known fact of the class. The view
// v_machines (schema.sql) has the same text in one line, with "; " between.
std::string machine_class_text(const std::map<std::string, std::string>& facts);

// SHA-256 of that text.
std::string machine_class(const std::map<std::string, std::string>& facts);

// An EnvironmentRecord as facts. There are three kinds: facts of the machine (some of which define its class, see
// environment_rows.h), facts of the build, and readings that change from hour to hour. Facts of the first two kinds
// define the fingerprint of an environment. Readings belong to an attempt.
struct EnvironmentRows {
  std::vector<std::pair<std::string, std::string>> facts;  // "libraries.oneDNN" -> "2.6.3"; without readings
  std::string fingerprint;                                 // SHA-256 over facts
};

// The model of the GPU, otherwise that of the CPU. Empty if neither is known.
std::string device_model(const std::map<std::string, std::string>& facts);

// A fact that changes with a new build or another layout of the run, and not with the machine: "git_commit",
// "libraries.oneDNN".
bool is_build_fact(std::string_view fact);
// The beginning of facts about libraries, and of ProgramSpec::facts in the environment of a training program.
inline constexpr std::string_view kLibraryFacts = "libraries.";

// A build fact that gives the version of a library with which an engine ran, "libraries.oneDNN" or "mpi".
bool is_library_fact(std::string_view fact);

EnvironmentRows environment_rows(const spec::EnvironmentRecord& environment);

// The record with these facts, its readings at 0. nullopt if none of the facts belongs to it.
std::optional<spec::EnvironmentRecord> environment_of(const std::map<std::string, std::string>& facts);

}  // namespace perfbench::harness
