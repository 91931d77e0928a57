// Kinds of sweeps as conditions of queries: each question of the store is asked of some kinds, and says so here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/evidence/attempt.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

// What the sweeps that a query is about were made for.
enum class SweepsOf {
  history,      // nights, and the made-up ones of a demonstration
  control,      // of nights
  measurement,  // whole matrices measured for their own sake: what "the newest sweep" means
  resumption,   // those that `perfbench sweep --resume` may go on with
};

bool is_of(SweepKind kind, SweepsOf which);

// "s.kind IN ('night', 'simulated')", of the column `column`.
std::string kind_condition(const std::string& column, SweepsOf which);

// Of two columns that say the kind of one sweep the one that knows more, as an SQL expression: `imported` is what
// nothing was known of, and `night` what a sweep by hand was called before kinds were kept.
std::string surer_kind(const std::string& a, const std::string& b);

// What sweeps by hand were asked to run: tables sweep_requests and sweep_request_words.
struct RecordedRequest {
  std::string sweep_id;
  std::string matrix;
  std::string begun_utc;
  SweepWords words;
  std::int64_t repeats = 0;  // 0: as the matrix says
};

// Of a sweep that has a request, only an earlier beginning is kept: attempts say again what the sweep was begun with.
void record_request(Connection& db, const RecordedRequest& request);

// Nothing where the sweep has none: it is of an older perfbench, or of another kind.
std::optional<RecordedRequest> find_request(const Connection& db, const std::string& sweep_id);

}  // namespace perfbench::harness
