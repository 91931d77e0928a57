// The results of a benchmark program, in a form that all formats share. A format turns its file into rows; everything
// behind it knows only this form. Pure: bytes go in, rows come out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "workloads/spec/json_words.h"
#include "workloads/spec/program_spec.h"
#include "workloads/spec/sample.h"

namespace perfbench::readers {

// The file is not what its format says, or must not be believed. The message begins with "LINE: ".
class BenchmarkError : public std::runtime_error {
 public:
  BenchmarkError(std::int64_t line, const std::string& what) : std::runtime_error(std::to_string(line) + ": " + what) {}
};

enum class RowState {
  ok,
  skipped,   // the benchmark itself decided not to run
  failed,    // it ran and failed
  doubtful,  // it ran, but its times are not those of correct work
};

// One benchmark with its parameters: one cell of a matrix. Its metrics end in their unit; the time that the benchmark
// is about is step_time_s.
struct BenchmarkRow {
  std::string name;
  std::map<std::string, std::string> axes;  // parameters that are not in the name
  std::vector<std::string> identity;        // what else makes it another benchmark, such as a version of its code
  // The kind of average, if the file has no samples: "median". A series of medians never continues one of samples.
  std::string statistic;
  RowState state = RowState::ok;
  std::string reason;                                    // why it is not ok; else a remark
  std::map<std::string, std::vector<double>> samples;    // by metric, in order
  std::map<std::string, double> averages;                // by metric; no sample of a distribution
  std::map<std::string, spec::DeclaredMetric> declared;  // unit and direction of metrics that no catalog has
  std::string gpu_model;                                 // empty: the file's
};

// Facts that a file states for all of its rows. An empty text and 0 mean that it does not say.
struct BenchmarkFacts {
  std::string suite;        // the program that ran the benchmarks
  std::string started_utc;  // 2026-01-31T12:00:00Z
  std::string git_commit;
  bool git_dirty = false;
  std::string hostname;
  std::string os;
  std::string kernel;
  std::string cpu_model;
  std::string gpu_model;
  std::string build_type;
  std::int64_t cpus = 0;
  std::int64_t memory_bytes = 0;
  double load_1m = 0;
  std::map<std::string, std::string> libraries;  // with their versions
};

struct BenchmarkFile {
  BenchmarkFacts facts;
  std::vector<BenchmarkRow> rows;
  std::vector<std::string> notes;  // sentences for the reader of the numbers
};

// Reads a file by its path relative to the imported one. Returns nullopt if it does not exist.
using SideFiles = std::function<std::optional<std::string>(const std::string& path)>;

struct BenchmarkSource {
  spec::ByteReader bytes;
  SideFiles side_files;
};

// The samples of a row. Each is a step of its own, and averages are not samples of a distribution.
std::vector<spec::Sample> samples_of(const BenchmarkRow& row);

}  // namespace perfbench::readers
