#include "harness/store/attempts/environments.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/evidence/environment_rows.h"
#include "harness/stats/statistics.h"

namespace perfbench::harness {

std::string StoredEnvironment::git_commit() const {
  const auto found = facts.find("git_commit");
  return found == facts.end() ? "" : found->second;
}

EnvironmentReader::EnvironmentReader(const Connection& db)
    : facts_(db, "SELECT name_key, value FROM environment_facts WHERE environment_key = ?"),
      name_(db, "SELECT name FROM names WHERE name_key = ?") {}

// The names are the same for all environments.
const std::string& EnvironmentReader::name_of(std::int64_t name_key) {
  auto& name = names_[name_key];
  if (name.empty() && name_.with(name_key).step()) name = name_.text(0);
  return name;
}

const std::shared_ptr<const StoredEnvironment>& EnvironmentReader::of(std::int64_t environment_key) {
  auto& known = known_[environment_key];
  if (known) return known;
  auto fresh = std::make_shared<StoredEnvironment>();
  facts_.with(environment_key);
  while (facts_.step()) fresh->facts[name_of(facts_.integer(0))] = facts_.text(1);
  fresh->machine_fingerprint = machine_class(fresh->facts);
  known = std::move(fresh);
  return known;
}

ClassPeakReader::ClassPeakReader(const Connection& db, EnvironmentReader& environments)
    : environments_(environments),
      next_(db, "SELECT environment_key FROM environments WHERE environment_key > ? ORDER BY environment_key LIMIT 1"),
      rates_(db,
             "SELECT sweep_key, attempt_key, peak_flops_per_s FROM attempts WHERE environment_key = ? AND "
             "peak_flops_per_s > 0 "
             "ORDER BY sweep_key, attempt_key LIMIT " +
                 std::to_string(kMeasurements)) {}

ClassPeakReader::Layout ClassPeakReader::layout_of(std::int64_t environment_key) {
  const auto& environment = *environments_.of(environment_key);
  const auto fact = [&](const char* name) {
    const auto found = environment.facts.find(name);
    return found == environment.facts.end() ? std::string() : found->second;
  };
  return {environment.machine_fingerprint, fact("ranks"), fact("threads_per_rank")};
}

void ClassPeakReader::read_next() {
  read_all_ = !next_.with(read_up_to_).step();
  if (read_all_) return;
  read_up_to_ = next_.integer(0);
  auto& oldest = read_[layout_of(read_up_to_)];
  rates_.with(read_up_to_);
  for (bool first = true; rates_.step(); first = false) {
    const Measurement one{rates_.integer(0), rates_.integer(1), rates_.real(2)};
    if (first) newest_begin_ = one;
    if (std::isfinite(one.flops_per_s)) oldest.push_back(one);
  }
  std::sort(oldest.begin(), oldest.end());
  if (oldest.size() > kMeasurements) oldest.resize(kMeasurements);
}

// A store with many commits has many environments. They are numbered in the order in which they were first seen, so
// those after the oldest measurements need not be read.
std::shared_ptr<const ClassPeak> ClassPeakReader::of(std::int64_t environment_key) {
  const auto layout = layout_of(environment_key);
  if (const auto known = known_.find(layout); known != known_.end()) return known->second;
  const auto& oldest = read_[layout];
  while (!read_all_ && (oldest.size() < kMeasurements || newest_begin_ < oldest.back())) read_next();
  auto& out = known_[layout];
  std::vector<double> rates;
  for (const auto& one : oldest) rates.push_back(one.flops_per_s);
  if (rates.empty()) return out;
  const ClassPeak peak{.flops_per_s = *std::max_element(rates.begin(), rates.end()),
                       .median_flops_per_s = median(rates),
                       .measurements = rates.size()};
  out = std::make_shared<const ClassPeak>(peak);
  return out;
}

}  // namespace perfbench::harness
