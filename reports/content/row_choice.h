// The choices of a user for a report: report --columns, --sort, --best, --price and --heat-map.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/render/document/document.h"

namespace perfbench::reports {

struct RowChoice {
  std::vector<std::string> columns = {};   // names of columns; empty: those of the style
  std::string sort = {};                   // a column, best value first; ":asc" or ":desc" at its end decides otherwise
  std::size_t best = 0;                    // number of rows after sorting; 0: all
  double device_hour_price = 0;            // for the cost of tokens; 0: unknown
  std::vector<std::string> heat_map = {};  // the two axes of the heat map; empty: those with the most pairs of values
};

// A column by its key, or by its key without a unit at its end: "step_time" for "step_time_s". Throws InputError with
// the closest key if the table has no such column.
std::size_t column_of(const Table& table, const std::string& option, const std::string& name);

// The indices of the rows to show, in their order. A row without a value comes last.
std::vector<std::size_t> chosen_rows(const Table& table, const RowChoice& choice);

// The columns of `choice.columns` in that order, for this reader. Text that only programs had is made from their
// values.
Table with_columns(const Table& table, const RowChoice& choice, Audience reader);

}  // namespace perfbench::reports
