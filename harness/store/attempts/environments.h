// Reads environments from the store. Many attempts share one.
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

// Reads each environment once.
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

// The peak of a CPU for MFU. Every run measures the rate of its threads at its beginning, and other programs can make
// that rate several times too low. So runs of equal layout on one class of machine (environment_rows.h) share a peak:
// the highest of the first 20 measurements. It no longer changes once there are that many.

class ClassPeakReader {
 public:
  static constexpr std::size_t kMeasurements = 20;

  // `environments` uses the same connection and must outlive this reader.
  ClassPeakReader(const Connection& db, EnvironmentReader& environments);

  // Null if no run of this layout and class has measured it.
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
  Measurement newest_begin_;                         // the first one of the environment that was read last
  std::map<Layout, std::vector<Measurement>> read_;  // the oldest measurements, in the order of recording
  std::map<Layout, std::shared_ptr<const ClassPeak>> known_;
};

}  // namespace perfbench::harness
