// A planned cell in words: the phrases that all tables of a plan share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/plan/planner.h"
#include "reports/render/chart/chart.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

std::string label_of(const harness::PlannedCell& planned);  // "(defaults)" for the cell of a matrix without axes
std::string count_text(std::int64_t count);                 // "405 G"
// The bytes that a device sends in a step, by mesh axes: "fsdp 1.50 GiB, tp 20.0 MiB"; kNothing if it sends none.
std::string traffic_text(const std::vector<spec::AxisTraffic>& traffic);

// The need of cells and stages in comparison with a device, as charts. Shows the memory of a device for each cell that
// was counted, and the device's capacity where it is known.
Chart plan_chart(const std::vector<harness::PlannedCell>& plan);

// For a cell that was counted, by stage of its pipeline; a single bar if there are no stages.
Chart stages_chart(const harness::PlannedCell& planned);

// A plan for people. A plan may have a hundred thousand cells, so the form for programs is written piece by piece
// (harness/plan/plan_export.h). A row for each cell, then the number of cells in each state.
Document plan_document(const std::string& matrix, const std::vector<harness::PlannedCell>& plan);

}  // namespace perfbench::reports
