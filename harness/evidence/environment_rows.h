// Machines that are equally fast as far as anybody can say. A night in a container, on a cloud machine or after an
// update of the kernel has another host name, another kernel and some other bytes of memory, and is a night of the same
// series all the same: those are facts that a reader is shown when they change. Of one class are machines with equal
//
//   cpu_model, cpu_features   the processor and its vector extensions
//   cores_allowed             by affinity and control group
//   governor                  the frequency policy
//   memory_bytes              as memory_class_bytes
//   gpu_model, gpu_memory_bytes (as memory_class_bytes), gpu_driver
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

// The smallest 2^n or 3 * 2^n not below `bytes`; 0 for 0. Kernels and hypervisors keep some per cent of the memory that
// a machine is sold with, so that what is left lies below such a size and not around it: 7.7 GiB is of the class 8 GiB.
std::int64_t memory_class_bytes(std::int64_t bytes);

// The facts of the class, of all facts of an environment by name: a line for each that is known. The view v_machines
// (schema.sql) has the same text in one line, with "; " between.
std::string machine_class_text(const std::map<std::string, std::string>& facts);

// SHA-256 of that text.
std::string machine_class(const std::map<std::string, std::string>& facts);

// An EnvironmentRecord as facts. Three kinds: facts of the machine (some of which make its class: environment_rows.h),
// facts of the build, and readings that differ from one hour to the next. The first two make the fingerprint of an
// environment; readings belong to an attempt.
struct EnvironmentRows {
  std::vector<std::pair<std::string, std::string>> facts;  // "libraries.oneDNN" -> "2.6.3", without readings
  std::string fingerprint;                                 // SHA-256 over facts
};

// A fact that a new build or another layout of the run changes, and not the machine: "git_commit", "libraries.oneDNN".
bool is_build_fact(std::string_view fact);
// One of those: the version of a library that an engine was run with, "libraries.oneDNN" or "mpi".
bool is_library_fact(std::string_view fact);

EnvironmentRows environment_rows(const spec::EnvironmentRecord& environment);

// The record of these facts, its readings at 0; nothing where none has them.
std::optional<spec::EnvironmentRecord> environment_of(const std::map<std::string, std::string>& facts);

}  // namespace perfbench::harness
