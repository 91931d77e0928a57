// A sweep of a matrix: plans, runs and records it.
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
  std::string device = {};   // for every cell; empty: as the matrix says
  // Continues the newest sweep of this matrix, with the engine that began it. Values of --only, --set and repeats that
  // are not given here are those with which the sweep began; values that are given must be the same.
  bool resume = false;
  OnFailure on_failure = OnFailure::keep_going;
};

// The runs that it would make.
struct PlannedMatrix {
  std::string matrix;
  std::vector<PlannedCell> cells;
};
PlannedMatrix plan_sweep(SweepRequest request, const Installation& installation);

// Runs the sweep. `store` belongs to the request's database. A cell that fails is a result. Throws InputError before
// anything runs: for a matrix that cannot be read, a requested device that is missing, a database that cannot be
// opened.
SweepSummary sweep_matrix(SweepRequest request, const Installation& installation, SweepStore& store,
                          Interruption& interruption);

}  // namespace perfbench::harness
