// Sends runs of a database to a server (`perfbench serve --accept`), which adds them to its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "harness/store/queries/query.h"
#include "harness/system/machine_keys.h"

namespace perfbench::harness {

struct PushRuns {
  std::string url;  // of the server: "https://perf.example.com"
  std::filesystem::path db;
  Selection selection = {SelectionKind::all, {}, 0};  // all: a file for each sweep
  MachineKey key;
  std::chrono::seconds patience{600};  // for a server that does not answer, or does not take a file in
  std::function<void(const std::string& line)> say = {};  // progress
};

struct PushReport {
  std::int64_t files = 0;                 // that were sent
  std::int64_t known = 0;                 // that the server had already
  std::int64_t added = 0;                 // attempts
  std::int64_t present = 0;               // attempts that the server had from other files
  std::vector<std::string> refused = {};  // "SWEEP: why"
  std::set<std::string> left_out = {};    // records that cannot be read here
  bool cancelled = false;
};

// Sends runs and comparisons in pairs, without alerts, baselines, tags and notes. Continues where an earlier push
// ended. A file that cannot be made, or that the server refuses, does not keep the others from being sent. Throws
// InputError for text that is not an address, for a machine that the server does not know, and if the server does not
// answer within `patience`. It ends early, as cancelled, once a byte can be read from `cancel_fd`.
PushReport push_runs(const PushRuns& request, int cancel_fd);

}  // namespace perfbench::harness
