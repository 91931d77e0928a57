// Environments out of the store, each of which many attempts share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "harness/records/stored_attempt.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

// Each is read once.
class EnvironmentReader {
 public:
  explicit EnvironmentReader(const Connection& db);

  const std::shared_ptr<const StoredEnvironment>& of(std::int64_t environment_key);

 private:
  const std::string& name_of(std::int64_t name_key);

  Statement facts_;
  Statement name_;
  std::unordered_map<std::int64_t, std::string> names_;
  std::unordered_map<std::int64_t, std::shared_ptr<const StoredEnvironment>> known_;
};

// The peak of a CPU that MFU is of. Every run measures the rate of its threads when it begins, and what else runs then
// makes it up to several times too low. So runs of equal layout on one class of machine (environment_rows.h) have one
// peak: the highest of the first 20 that were recorded. It does not change once there are so many.

class ClassPeakReader {
 public:
  static constexpr std::size_t kMeasurements = 20;

  // `environments` is of the same connection, and outlives this.
  ClassPeakReader(const Connection& db, EnvironmentReader& environments);

  // Null where no run of this layout and class has measured it.
  std::shared_ptr<const ClassPeak> of(std::int64_t environment_key);

 private:
  using Layout = std::tuple<std::string, std::string, std::string>;  // class, ranks, threads of a rank
  struct Measurement {
    std::int64_t sweep_key = 0;
    std::int64_t attempt_key = 0;
    double flops_per_s = 0;
    bool operator<(const Measurement& other) const {
      return std::tie(sweep_key, attempt_key) < std::tie(other.sweep_key, other.attempt_key);
    }
  };

  Layout layout_of(std::int64_t environment_key);
  void read_next();

  EnvironmentReader& environments_;
  Statement next_;
  Statement rates_;
  std::int64_t read_up_to_ = -1;  // key of an environment
  bool read_all_ = false;
  Measurement newest_begin_;                         // the first of the environment that was read last
  std::map<Layout, std::vector<Measurement>> read_;  // the oldest, in the order in which they were recorded
  std::map<Layout, std::shared_ptr<const ClassPeak>> known_;
};

}  // namespace perfbench::harness
