// The ledger of decisions (harness/store/ledgers/judgement_ledger.h), printed by `perfbench show verdict:ID`.
#pragma once

#include <string>
#include <vector>

#include "harness/records/alert.h"
#include "harness/store/ledgers/judgement_ledger.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// One section for each cell. `cell` selects one; empty: all.
Document judgement_document(const harness::Judgement& judgement, const std::string& cell = "");

// An alert with the nights that opened it and the pairs that confirmed it, each for the cell of the alert.
Document alert_judgements_document(const harness::Alert& alert, const std::vector<harness::Judgement>& judgements);

}  // namespace perfbench::reports
