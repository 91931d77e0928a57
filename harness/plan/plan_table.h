// A plan as text: for people a table, for programs JSON or CSV with the unit in every key.
#pragma once

#include <string>
#include <vector>

#include "harness/plan/plan_export.h"
#include "harness/plan/planner.h"

namespace perfbench::harness {

enum class PlanFormat { table, json, csv };

void write_plan(const std::string& matrix, const std::vector<PlannedCell>& plan, PlanFormat format,
                const WritePlan& write);
// The same as one text.
std::string render_plan(const std::string& matrix, const std::vector<PlannedCell>& plan, PlanFormat format);

// One cell with the tensors alive at its peak. The plan must have kept them (TensorList::keep).
std::string render_plan_details(const PlannedCell& planned, PlanFormat format);

}  // namespace perfbench::harness
