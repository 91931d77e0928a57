// A plan for programs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/plan/planner.h"
#include "workloads/spec/program_spec.h"

namespace perfbench::harness {

// Takes the text in pieces: for a hundred thousand cells it is larger than the cells themselves.
using WritePlan = std::function<void(std::string_view)>;

// A program as its start fills it in, except for {run_dir} and the other places that only the start knows.
spec::ProgramSpec readable_program(const spec::ProgramSpec& program);

// The variables and the command of readable_program() as a line for a shell.
std::string program_line(const spec::ProgramSpec& program);

// {"matrix": ..., "cells": [{"cell", "axes", "run_id", "state", "reason", "devices", "parameters", "peak", "flops",
// "traffic", "largest", ...}]}, with raw amounts and the unit in the key. Counts that do not exist are left out. A
// cell of a program has its "command" as a list, "env" and "workdir".
void write_plan_json(const std::string& matrix, const std::vector<PlannedCell>& plan, const WritePlan& write);

// One row for each cell (RFC 4180) with the same names; traffic as <axes>_sent_bytes ("fsdp", "dcn_dp", "dp+fsdp"). The
// command is program_line().
void write_plan_csv(const std::string& matrix, const std::vector<PlannedCell>& plan, const WritePlan& write);

}  // namespace perfbench::harness
