// The ledger of decisions: the rule, look, nights and references on which a verdict is based
// (harness/records/judgement.h). Tables judgements and judgement_lines; `perfbench show verdict:ID` prints them.
// Nothing is computed again, because tomorrow's code may decide differently.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/records/judgement.h"
#include "harness/store/sqlite.h"

namespace perfbench::harness {

// Uses the transaction of the caller, or one of its own. An existing judgement is left unchanged.
void add_judgement(Connection& db, const Judgement& judgement);

std::optional<Judgement> find_judgement(const Connection& db, const std::string& judgement_id);

// The verdicts of the newest nights of each matrix that were judged before `now_utc`, newest night first. Rows with an
// unknown verdict are left out.
std::vector<NightAnswer> newest_night_answers(const Connection& db, const std::string& now_utc);

// Ids, oldest first.
std::vector<std::string> judgement_ids(const Connection& db);

// The judgements that opened or continued the alert, oldest first.
std::vector<std::string> judgements_of_alert(const Connection& db, const std::string& alert_id);

}  // namespace perfbench::harness
