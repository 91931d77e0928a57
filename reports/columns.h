// The columns of every tabular form. A column is declared once: its title for people, its key for programs, its text
// and its raw value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "reports/report_model.h"

namespace perfbench::reports {

using RawValue = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::string>>;

struct Column {
  const char* title;  // as in the published tables
  const char* key;    // with its unit
  std::string (*text)(const ReportRow&);
  RawValue (*value)(const ReportRow&);
};

// table: the columns of the reference systems' tables, in MaxText's order. pax, pax_moe and pax_tuning: those of Pax's
// tables of training, with the days that all of it takes, of experts, and of fine-tuning. seqax: Model Size | MFU.
enum class TableStyle { table, pax, pax_moe, pax_tuning, seqax };

std::span<const Column> columns(TableStyle style);

// What a program wants beside the table: identity, state, spread, verdict.
std::span<const Column> detail_columns();

}  // namespace perfbench::reports

template <>
struct perfbench::spec::EnumNames<perfbench::reports::TableStyle> {
  using S = perfbench::reports::TableStyle;
  static constexpr std::array kNames{std::pair{S::table, "table"}, std::pair{S::pax, "pax"},
                                     std::pair{S::pax_moe, "pax_moe"}, std::pair{S::pax_tuning, "pax_tuning"},
                                     std::pair{S::seqax, "seqax"}};
};
