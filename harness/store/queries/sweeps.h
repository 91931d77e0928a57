// Kinds of sweeps as conditions of queries: each query is about some kinds, which are defined here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/evidence/attempt.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

// The kinds of sweeps that a query is about.
enum class SweepsOf {
  history,      // nights, and the simulated ones of a demonstration
  control,      // of nights
  measurement,  // whole matrices measured for their own sake, among which "the newest sweep" is looked up
  resumption,   // sweeps that `perfbench sweep --resume` may continue
};

bool is_of(SweepKind kind, SweepsOf which);

// "s.kind IN ('night', 'simulated')", for the column `column`.
std::string kind_condition(const std::string& column, SweepsOf which);

// The more specific one of two kinds of the same sweep, as an SQL expression over two columns: `imported` means that
// nothing was known, and `night` was used for sweeps by hand before kinds were recorded.
std::string surer_kind(const std::string& a, const std::string& b);

// The requests of sweeps by hand: tables sweep_requests and sweep_request_words.
struct RecordedRequest {
  std::string sweep_id;
  std::string matrix;
  std::string begun_utc;
  SweepWords words;
  std::int64_t repeats = 0;  // 0: as the matrix says
};

// If the sweep already has a request, only an earlier beginning is stored, because later attempts repeat the request.
void record_request(Connection& db, const RecordedRequest& request);

// nullopt if the sweep has none: it is of another kind, or from an older perfbench.
std::optional<RecordedRequest> find_request(const Connection& db, const std::string& sweep_id);

}  // namespace perfbench::harness
