// What a comparison with a baseline was decided by, for the ledger of decisions
// (harness/store/ledgers/judgement_ledger.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/app/runs/against.h"
#include "harness/records/judgement.h"

namespace perfbench::harness {

struct BaselineJudgement {
  std::string judgement_id;
  std::string selection;           // what was compared
  std::optional<Baseline> entry;   // of the ledger of baselines; nothing: runs that were named themselves
  std::vector<CellRuns> baseline;  // of the entry's attempts
};

Judgement judgement_of(const BaselineJudgement& about, const std::vector<CellRuns>& cells,
                       const std::vector<CellComparison>& found, const AgainstRequest& request);

}  // namespace perfbench::harness
