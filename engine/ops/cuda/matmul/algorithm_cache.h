// The library algorithm that computes each product: measured once, then kept in a file, so that every later run on this
// machine uses the same one. Algorithms differ in their last bits, and timings differ in every run; the file is what
// makes the same seed give the same bits. Only measured choices are kept. Delete the file to measure again.
//
// The file is JSON, one for each GPU model, driver and library version; it contains these too. A file that was made for
// others, or is damaged, is ignored with one line on the log and written anew.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace perfbench::engine::cuda {

// The library's encoding of an algorithm: bits with a meaning only to the same version of the library.
using Algorithm = std::array<std::uint64_t, 8>;

struct ChosenAlgorithm {
  Algorithm algorithm{};
  double time_ns = 0;
  friend bool operator==(const ChosenAlgorithm&, const ChosenAlgorithm&) = default;
};

struct TimedAlgorithm {
  Algorithm algorithm{};
  std::vector<double> times_ns;  // of its repetitions, at least one
};

// The one with the least median; among equal ones the first, which the library prefers. Throws LogicFault if there are
// no candidates.
ChosenAlgorithm fastest(std::span<const TimedAlgorithm> candidates);

// The environment for which algorithms and their times are valid.
struct AlgorithmScope {
  std::string gpu;      // "NVIDIA H100 80GB HBM3"
  std::string driver;   // "13.0"
  std::string library;  // "cublasLt 13.1.0"
  friend bool operator==(const AlgorithmScope&, const AlgorithmScope&) = default;
};

// $XDG_CACHE_HOME/perfbench, or ~/.cache/perfbench; empty if neither variable is set.
std::filesystem::path cache_folder();
// Such as "nvidia-h100-80gb-hbm3_13.0_cublaslt-13.1.0.json".
std::string cache_file_name(const AlgorithmScope& scope);

class AlgorithmCache {
 public:
  // If `folder` is empty, nothing is kept. `log` gets one line if a file cannot be used.
  AlgorithmCache(std::filesystem::path folder, AlgorithmScope scope, std::ostream& log);

  // `problem` is the text of a ProductKey.
  std::optional<ChosenAlgorithm> find(const std::string& problem) const;

  // Keeps `chosen` unless another process has settled the problem since the file was read; returns the valid choice, so
  // that all ranks of a run agree. The file is replaced atomically, and by only one process at a time.
  ChosenAlgorithm settle(const std::string& problem, const ChosenAlgorithm& chosen);

 private:
  using Choices = std::map<std::string, ChosenAlgorithm>;

  Choices read() const;
  void write() const;

  std::filesystem::path file_;  // empty: nothing is kept
  AlgorithmScope scope_;
  std::ostream& log_;
  Choices choices_;
};

}  // namespace perfbench::engine::cuda
