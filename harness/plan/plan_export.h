// A plan for programs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/plan/planner.h"

namespace perfbench::harness {

// Takes the text piece by piece: of a hundred thousand cells it is larger than they are.
using WritePlan = std::function<void(std::string_view)>;

// {"matrix": ..., "cells": [{"cell", "axes", "run_id", "state", "reason", "devices", "parameters", "peak", "flops",
// "traffic", "largest", ...}]}, amounts raw with the unit in the key. Counts are absent where there are none.
void write_plan_json(const std::string& matrix, const std::vector<PlannedCell>& plan, const WritePlan& write);

// One row a cell (RFC 4180), the same names; traffic as <axes>_sent_bytes ("fsdp", "dcn_dp", "dp+fsdp").
void write_plan_csv(const std::string& matrix, const std::vector<PlannedCell>& plan, const WritePlan& write);

}  // namespace perfbench::harness
