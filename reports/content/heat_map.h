// Heat maps of a report's rows: one number over two axes of the matrix.
#pragma once

#include <string>
#include <vector>

#include "reports/content/report_model.h"
#include "reports/render/chart/chart.h"

namespace perfbench::reports {

// Throws InputError unless these are two different axes of the rows; the error names the axes that there are.
void check_heat_map_axes(const std::vector<ReportRow>& rows, const std::vector<std::string>& axes);

struct HeatMaps {
  std::vector<Chart> charts;
  std::string why_not;  // if named axes have no map, the reason
};

// A map for each matrix, subject, processor and model, at most eight. A map with the model as an axis has all models.
// The number is the MFU if all measured rows have it, otherwise tokens/s/device or, if a row lacks that as well, the
// step time. Where several rows have the same two values, the best one is shown. The deepest colour is the best value
// of a map.
//
// Empty `axes`: the two axes that have the most pairs of values; there is no map if no two axes make a grid.
HeatMaps heat_maps(const std::vector<ReportRow>& rows, const std::vector<std::string>& axes);

}  // namespace perfbench::reports
