// The ledger of decisions: by which rule, at which look, from which nights and beside which references a verdict was
// given (harness/records/judgement.h). Tables judgements and judgement_lines; `perfbench show
// verdict:ID` prints them. Nothing of it is worked out anew: what the code decides tomorrow may differ.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/records/judgement.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

// In the transaction of the caller, or one of its own. One that is there already stays as it is.
void add_judgement(Connection& db, const Judgement& judgement);

std::optional<Judgement> find_judgement(const Connection& db, const std::string& judgement_id);

// Ids, oldest first.
std::vector<std::string> judgement_ids(const Connection& db);

// Of the judgements that opened the alert or went on with it, oldest first.
std::vector<std::string> judgements_of_alert(const Connection& db, const std::string& alert_id);

}  // namespace perfbench::harness
