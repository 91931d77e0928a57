// What may become of an alert, and what a finding means beside the alerts there already are. Pure functions.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/screening.h"
#include "harness/records/alert.h"
#include "harness/stats/verdict.h"

namespace perfbench::harness {

bool is_live(AlertState state);  // open or acknowledged

// The states that may follow `state`:
//   open          acknowledged, fixed, wont_fix, environment, invalid
//   acknowledged  open, fixed, wont_fix, environment, invalid
//   fixed         none: when it comes back, it opens anew and refers to this one
//   wont_fix, environment, invalid    open, when the judgement was wrong
std::vector<AlertState> next_states(AlertState state);

// The change of `alert` as an event. Throws InputError for a state that cannot follow, and without author or reason.
AlertEvent transition(const Alert& alert, AlertState to, const std::string& author, const std::string& reason,
                      const std::string& at_utc);

// A finding is of the same alert when series and kind are equal; of a change of the machine when the machine is.
enum class FindingMeaning {
  opens,       // nothing is known of it
  comes_back,  // seen in a night after it was called fixed: a new alert that refers to the fixed one
  continues,   // there is a live alert of it
  known,       // it was judged: fixed after the night that shows it, or closed otherwise, and this is the same shift
};
struct FindingPlace {
  FindingMeaning meaning = FindingMeaning::opens;
  std::string alert_id = {};  // of the alert that it is about; empty for `opens`
};
// `alerts` of any series, oldest first: the newest of the finding's counts. A shift is another one than that of an
// alert that a person acknowledged, or closed otherwise than as fixed, when its first bad night came after that and its
// last good one not before the known shift (as the control's does): the estimate of a first night wanders by some
// nights as more of them are seen, so unequal nights alone say nothing. And than that of any when it is more than twice
// as large, or when pairs confirmed it with a last good night three days or more after the known shift's first bad one:
// both engines of these pairs have the known shift.
FindingPlace place_finding(const std::vector<Alert>& alerts, const Finding& finding);

// The shifts that these alerts say are real, for the screen to look past: of every alert of a shift that nobody called
// invalid. A change of the machine counts for all series on it once a person has judged the alert; until then what
// other series show of it is news.
std::vector<KnownShift> known_shifts(const std::vector<Alert>& alerts);

// By cell and metric of the matrix, the first night of its newest improvement that nobody called invalid.
std::map<std::pair<std::string, std::string>, NightId> newest_improvements(const std::vector<Alert>& alerts,
                                                                           const std::string& matrix);

// What live alerts make of a night that found nothing new: REGRESSED for an open one, INCONCLUSIVE for an acknowledged
// one and for a change of the machine. Improvements and closed alerts add nothing.
std::vector<Verdict> verdicts_of(const std::vector<Alert>& alerts);

// Alerts that one change of the code may explain: equal revisions of last good and first bad night. Environment alerts
// stand apart from those of the code.
struct AlertGroup {
  std::string good_revision;
  std::string bad_revision;
  bool environment = false;
  std::vector<Alert> alerts;
};
// By the start of their first bad nights; inside a group bad ones first, then the largest changes.
std::vector<AlertGroup> group_by_range(const std::vector<Alert>& alerts);

}  // namespace perfbench::harness
