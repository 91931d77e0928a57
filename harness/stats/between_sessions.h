// Runs of one session held against runs of another. A session (one sweep) has its machine, neighbours and clocks in
// common, so that the level of an unchanged program moves from session to session by more than its runs scatter: runs
// of two sessions are no two samples of one population. Pure functions of numbers.
//
// Days have their own weather: sessions of one day lie closer together than those of several. So at most one session a
// calendar day (UTC) counts, the newest, and what is known has to reach as far as the sides are apart. Of K days from
// the first to the last known one, evenly spread days reach (K + 1) / (K - 1) times as far, which is what they cover.
//
// The model: log value = level + shift of the session + noise of the run, both Gaussian, of variances b and w. The
// difference of two means over runs gives each session a weight: its share of the current runs less its share of the
// baseline's. With C the sum of their squares, m and n the runs of the sides, the difference has the variance
// C b + (1/m + 1/n) w. Of b the store knows the levels of other sessions of the same cell on the same machine, K of
// them with r runs each: their sample variance s2 estimates b + w h, h the mean of 1/r. So the variance is
//   C s2 + w (1/m + 1/n - C h), the second part never below 0,
// with Satterthwaite's degrees of freedom of the parts (Biometrics Bulletin 2, 1946, p. 110): K - 1 of s2, and of w
// those of the scatter of both sides' runs within their sessions. Where the sides have no fewer runs than the sessions
// the second part is 0 and Student's t with K - 1 degrees is exact, or wide where the runs are more. A night's level is
// a median, which scatters more than a mean: wider still. What changed in the program between the known sessions is in
// s2 too: wider again. Shifts in common to all cells of a session are in every cell's own s2, and no averaging over
// cells makes them smaller. Two things make s2 too small, and --ab alone is free of them: sessions of which a few are
// far out where none of the known ones was (harness/selftest/README.md), and a drift that is slow beside the days that
// are known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/stats/log_difference.h"

namespace perfbench::harness {

// Days since 1970-01-01 (UTC); nothing: unknown.
using SessionDay = std::optional<std::int64_t>;

// Another session of the same cell.
struct SessionLevel {
  std::string sweep_id;
  SessionDay day = {};
  std::string machine;   // fingerprint
  double log_level = 0;  // median of its runs' logs
  std::size_t runs = 1;  // that the level is of
};

// Of one metric, by matrix and run id.
using SessionLevels = std::map<std::pair<std::string, std::string>, std::vector<SessionLevel>>;
using KnownSessions = std::map<std::string, SessionLevels>;  // by metric

// With fewer, nothing is said: four degrees of freedom make an interval 1.8 times as wide as full knowledge would,
// three 2.3 times, and what is unusual about a session has hardly had an occasion to show.
inline constexpr std::size_t kFewestSessions = 5;

struct SessionSpread {
  std::size_t sessions = 0;  // of different days; one of an unknown day is a day of its own
  double deviation = 0;      // of the levels, log units; needs two sessions
  double runs_share = 0;     // mean of 1 / runs

  // Nothing where fewer than two days are dated: then nobody can say that they are too few.
  std::optional<std::int64_t> covered_days = {};

  bool known() const { return sessions >= kFewestSessions; }
};

// Metrics without noise do not (spec::MetricNoise): their sessions are samples of one population. All others do, the
// resident set too: pages are the system's.
bool varies_between_sessions(const std::string& metric);

// Runs of one side: a value, and the session it is of.
struct SessionRuns {
  std::vector<double> logs;
  std::vector<std::string> sessions;  // one for each log; different texts are different sessions
  std::vector<SessionDay> days = {};  // of each log; may be empty
};

// The largest number of days from a run of one side to one of the other; nothing where a side has no dated run.
std::optional<std::int64_t> days_apart(const SessionRuns& a, const SessionRuns& b);

// What SessionRuns calls the runs of this sweep: no name of a session without a sweep can be mistaken for it.
std::string session_name(const std::string& sweep_id);

// Of the sessions that no run of the two sides is of, which must not vouch for themselves. Those of older runs of a
// side that are not in its mean may. `levels` are oldest first.
SessionSpread session_spread(const std::vector<SessionLevel>& levels, const SessionRuns& a, const SessionRuns& b);

// C of above: 0 where both sides are of the same sessions in the same shares.
double session_weight(const SessionRuns& a, const SessionRuns& b);

// Mean of a less mean of b, both not empty, with the error of above. Needs a known spread. Without degrees of freedom
// where sessions of more runs say too little and no session of a side has two runs.
LogDifference session_difference(const SessionRuns& a, const SessionRuns& b, const SessionSpread& spread);

}  // namespace perfbench::harness
