// A plan for programs.
#pragma once

#include <string>
#include <vector>

#include "harness/plan/planner.h"

namespace perfbench::harness {

// {"matrix": ..., "cells": [{"cell", "axes", "run_id", "state", "reason", "devices", "parameters", "peak", "flops",
// "traffic", "largest", ...}]}, amounts raw with the unit in the key. Counts are absent where there are none.
std::string plan_json(const std::string& matrix, const std::vector<PlannedCell>& plan);

// One row a cell (RFC 4180), the same names; traffic as <axis>_sent_bytes.
std::string plan_csv(const std::string& matrix, const std::vector<PlannedCell>& plan);

}  // namespace perfbench::harness
