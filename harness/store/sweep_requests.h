// What sweeps by hand were asked to run: tables sweep_requests and sweep_request_words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/evidence/attempt.h"
#include "harness/sqlite/sqlite.h"

namespace perfbench::harness {

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
