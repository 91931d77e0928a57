// The columns of the report's tables. Each is declared once: its title for people, its key for programs, and its cell.
#pragma once

#include <array>
#include <span>
#include <utility>

#include "reports/content/report_model.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// Whether a column describes the run or its result.
enum class ColumnOf { configuration, result };

struct ReportColumn {
  const char* title;  // same as in the published tables
  const char* key;    // including its unit
  Cell (*cell)(const ReportRow&);
  Align align = Align::left;
  ColumnOf of = ColumnOf::result;
};

// table: the columns of the reference systems' tables in MaxText's order, with MFU and the difference from a baseline;
// maxtext: only MaxText's columns. pax, pax_moe and pax_tuning: the columns of Pax's tables for training (with the days
// of the whole training), for experts, and for fine-tuning. axlearn: the facts that AXLearn states about its models
// (step time and MFU of a model on an instance, in comments). torchprime: device | Model size | Batch size | seq length
// | step time | MFU | NOTEs. seqax: Model Size | MFU.
enum class TableStyle { table, maxtext, pax, pax_moe, pax_tuning, axlearn, torchprime, seqax };

std::span<const ReportColumn> columns(TableStyle style);

// Columns for programs, in addition to the table: identity, state, spread, verdict.
std::span<const ReportColumn> detail_columns();

// The subject, for tables with rows of several subjects.
extern const ReportColumn kSubjectColumn;

// The model's name alone, the label of a row's cell, and the wall time, for tables with programs that may declare
// nothing else.
extern const ReportColumn kModelColumn;
extern const ReportColumn kCellColumn;
extern const ReportColumn kWallTimeColumn;

// Columns for people, in addition to those of the reference systems: the number of runs whose median the step time is,
// their spread, the mean step from which rates are computed, and the days of a training whose length is known.
extern const ReportColumn kRunsColumn;
extern const ReportColumn kSpreadColumn;
extern const ReportColumn kMeanStepColumn;
extern const ReportColumn kEstimatedDaysColumn;
// The rate of each device, and its memory: the tensors of perfbench-engine, the resident set of another program.
extern const ReportColumn kTokensPerDeviceColumn;
extern const ReportColumn kEnergyColumn;
extern const ReportColumn kCostColumn;
extern const ReportColumn kMemoryColumn;

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
