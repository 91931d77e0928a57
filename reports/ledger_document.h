// The ledger of baselines as a table.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "harness/compare/baseline_findings.h"
#include "harness/store/baseline_ledger.h"
#include "reports/document/document.h"
#include "workloads/spec/fields.h"

namespace perfbench::reports {

enum class BaselineState { in_force, superseded, expired };

struct LedgerEntry {
  harness::Baseline baseline;
  BaselineState state = BaselineState::in_force;
};

// A row for each entry, then what is to be done about those that expired.
Document ledger_document(const std::vector<LedgerEntry>& entries, const std::vector<harness::LedgerFinding>& findings);

}  // namespace perfbench::reports

template <>
struct perfbench::spec::EnumNames<perfbench::reports::BaselineState> {
  using S = perfbench::reports::BaselineState;
  static constexpr std::array kNames{std::pair{S::in_force, "in force"}, std::pair{S::superseded, "superseded"},
                                     std::pair{S::expired, "expired"}};
};
