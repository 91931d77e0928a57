// The states of an alert, and the meaning of a finding given the existing alerts. Pure functions.
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
//     open          acknowledged, fixed, wont_fix, environment, invalid
//     acknowledged  open, fixed, wont_fix, environment, invalid
//     fixed         none: if the finding comes back, a new alert opens and refers to this one
//     wont_fix, environment, invalid    open, if the judgement was wrong
std::vector<AlertState> next_states(AlertState state);

// The change of `alert` as an event. Throws InputError for a state that is not allowed, and without author or reason.
AlertEvent transition(const Alert& alert, AlertState to, const std::string& author, const std::string& reason,
                      const std::string& at_utc);

// A finding belongs to an alert if series and kind are equal; a change of the machine does if the machine is equal.
enum class FindingMeaning {
  opens,       // there is no alert about it
  comes_back,  // seen in a night after the alert was called fixed: a new alert opens and refers to the fixed one
  continues,   // there is a live alert about it
  known,  // it is already judged: the alert was fixed after the night that shows it, or closed otherwise, and it is the
          // same shift
};
struct FindingPlace {
  FindingMeaning meaning = FindingMeaning::opens;
  std::string alert_id = {};  // id of the alert that the finding is about; empty for `opens`
};
// `alerts` may belong to any series, oldest first; the newest one of the finding's series counts.
//
// A shift differs from that of an acknowledged alert, or of one closed otherwise than as fixed, if two conditions hold:
// its first bad night came after the known shift, and its last good night was not before it (as the control's does).
// The estimate of a first night moves by some nights as more of them are seen, so different nights alone prove nothing.
// A shift differs from that of any alert if it is more than twice as large. It also differs if pairs confirmed it with
// a last good night at least three days after the first bad night of the known shift, because both engines of these
// pairs contain the known shift.
FindingPlace place_finding(const std::vector<Alert>& alerts, const Finding& finding);

// The shifts that are real according to these alerts, which the screen should ignore: those of every alert about a
// shift that nobody called invalid. A change of the machine counts for all series on it once a user has judged the
// alert; until then its effect on other series is news.
std::vector<KnownShift> known_shifts(const std::vector<Alert>& alerts);

// By cell and metric of the matrix: the first night of the newest improvement that nobody called invalid.
std::map<std::pair<std::string, std::string>, NightId> newest_improvements(const std::vector<Alert>& alerts,
                                                                           const std::string& matrix);

// The verdict that live alerts add to a night that found nothing new: REGRESSED for an open one, INCONCLUSIVE for an
// acknowledged one and for a change of the machine. Improvements and closed alerts add nothing.
std::vector<Verdict> verdicts_of(const std::vector<Alert>& alerts);

// Alerts that one change of the code may explain: the revisions of their last good and first bad nights are equal.
// Environment alerts form separate groups.
struct AlertGroup {
  std::string good_revision;
  std::string bad_revision;
  bool environment = false;
  std::vector<Alert> alerts;
};
// Sorted by the start of their first bad nights. Inside a group bad alerts come first, then the largest changes.
std::vector<AlertGroup> group_by_range(const std::vector<Alert>& alerts);

}  // namespace perfbench::harness
