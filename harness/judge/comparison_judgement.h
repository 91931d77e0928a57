// The basis of a comparison in pairs, for the ledger of decisions (harness/store/ledgers/judgement_ledger.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/judge/cell_verdict.h"
#include "harness/records/comparison.h"
#include "harness/records/judgement.h"

namespace perfbench::harness {

// `comparison` is as stored, with its sides; pairs and verdicts are not read.
Judgement judgement_of(const StoredComparison& comparison, const std::vector<CellVerdict>& cells, const AbRule& rule,
                       const std::string& made_utc);

// Recorded texts about one cell: its notes, and why its pairs did not take turns.
struct RecordedWords {
  std::vector<std::string> notes;
  std::string apart_because;
};
RecordedWords words_about_cell(const Judgement& judgement, const std::string& label);

}  // namespace perfbench::harness
