// A planned cell in words: the phrases that every table of a plan shares.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/plan/planner.h"
#include "reports/render/chart/chart.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

std::string label_of(const harness::PlannedCell& planned);  // "(defaults)" of the cell of a matrix without axes
std::string count_text(std::int64_t count);                 // "405 G"
// What a device sends in a step, by mesh axes: "fsdp 1.50 GiB, tp 20.0 MiB"; kNothing where it sends nothing.
std::string traffic_text(const std::vector<spec::AxisTraffic>& traffic);

// What cells and stages need against what a device has, drawn.
// Of each cell that was counted the memory of a device, and what the device has where that is known.
Chart plan_chart(const std::vector<harness::PlannedCell>& plan);

// Of a cell that was counted, by stage of its pipeline; of one without stages a single bar.
Chart stages_chart(const harness::PlannedCell& planned);

// A plan for people. What programs read of one, which may have a hundred thousand cells, is written piece by piece
// (harness/plan/plan_export.h).
// A row for each cell, then how many there are of each state.
Document plan_document(const std::string& matrix, const std::vector<harness::PlannedCell>& plan);

}  // namespace perfbench::reports
