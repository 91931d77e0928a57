// The basis of a comparison with a baseline, for the ledger of decisions (harness/store/ledgers/judgement_ledger.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/app/runs/against.h"
#include "harness/records/judgement.h"

namespace perfbench::harness {

struct BaselineJudgement {
  std::string judgement_id;
  std::string selection;           // the runs that were compared
  std::optional<Baseline> entry;   // in the ledger of baselines; nullopt: the runs were named directly
  std::vector<CellRuns> baseline;  // the entry's attempts
};

Judgement judgement_of(const BaselineJudgement& about, const std::vector<CellRuns>& cells,
                       const std::vector<CellComparison>& found, const AgainstRequest& request);

}  // namespace perfbench::harness
