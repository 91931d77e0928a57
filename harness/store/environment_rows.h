// An EnvironmentRecord as facts. Three kinds: facts of the machine (some of which make its class: machine_class.h),
// facts of the build, and readings that differ from one hour to the next. The first two make the fingerprint of an
// environment; readings belong to an attempt.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/spec/environment.h"

namespace perfbench::harness {

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
