// The columns of the report's tables. A column is declared once: its title for people, its key for programs, and its
// cell.
#pragma once

#include <array>
#include <span>
#include <utility>

#include "reports/content/report_model.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// What was run, or what came of it.
enum class ColumnOf { configuration, result };

struct ReportColumn {
  const char* title;  // as in the published tables
  const char* key;    // with its unit
  Cell (*cell)(const ReportRow&);
  Align align = Align::left;
  ColumnOf of = ColumnOf::result;
};

// table: the columns of the reference systems' tables, in MaxText's order, with MFU and the difference from a baseline;
// maxtext: those that MaxText's has. pax, pax_moe and pax_tuning: those of Pax's tables of training, with the days that
// all of it takes, of experts, and of fine-tuning. axlearn: what AXLearn says of its models (step time and MFU of a
// model on an instance, in comments). torchprime: device | Model size | Batch size | seq length | step time | MFU |
// NOTEs. seqax: Model Size | MFU.
enum class TableStyle { table, maxtext, pax, pax_moe, pax_tuning, axlearn, torchprime, seqax };

std::span<const ReportColumn> columns(TableStyle style);

// What a program wants beside the table: identity, state, spread, verdict.
std::span<const ReportColumn> detail_columns();

// What was run, where rows are of several subjects.
extern const ReportColumn kSubjectColumn;

// What people see beside the reference systems' columns: of how many runs a step time is the median, how far those are
// apart, the mean step that rates are made of, and the days of a training whose length is known.
extern const ReportColumn kRunsColumn;
extern const ReportColumn kSpreadColumn;
extern const ReportColumn kMeanStepColumn;
extern const ReportColumn kEstimatedDaysColumn;

}  // namespace perfbench::reports

template <>
struct perfbench::spec::EnumNames<perfbench::reports::TableStyle> {
  using S = perfbench::reports::TableStyle;
  static constexpr std::array kNames{std::pair{S::table, "table"},
                                     std::pair{S::maxtext, "maxtext"},
                                     std::pair{S::pax, "pax"},
                                     std::pair{S::pax_moe, "pax_moe"},
                                     std::pair{S::pax_tuning, "pax_tuning"},
                                     std::pair{S::axlearn, "axlearn"},
                                     std::pair{S::torchprime, "torchprime"},
                                     std::pair{S::seqax, "seqax"}};
};
