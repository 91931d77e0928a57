// A sweep of a matrix: planned, run, recorded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/app/execution.h"
#include "harness/app/sweep/planned_sweep.h"
#include "harness/plan/planner.h"

namespace perfbench::harness {

struct SweepRequest {
  MatrixOptions matrix = {};
  std::filesystem::path db = "perf.db";
  std::filesystem::path runs = {};  // empty: beside the database
  ExecutionOptions execution = {};
  std::int64_t repeats = 0;  // 0: as the matrix says
  std::string device = {};   // of every cell; empty: as the matrix says
  // Goes on with the newest sweep of this matrix, by the engine that began it. What is not given here of --only, --set
  // and repeats is as that sweep was begun; what is given must be the same.
  bool resume = false;
  OnFailure on_failure = OnFailure::keep_going;
};

// What it would run.
struct PlannedMatrix {
  std::string matrix;
  std::vector<PlannedCell> cells;
};
PlannedMatrix plan_sweep(SweepRequest request, const Installation& installation);

// Runs it. `store` is of the request's database. A cell that fails is a result. Throws InputError before anything runs:
// for a matrix that cannot be read, a device asked for by hand that is not there, a database that cannot be opened.
SweepSummary sweep_matrix(SweepRequest request, const Installation& installation, SweepStore& store,
                          Interruption& interruption);

}  // namespace perfbench::harness
