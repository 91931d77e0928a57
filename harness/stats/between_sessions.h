// Compares runs of one session with runs of another. The runs of a session (one sweep) share their machine, neighbours
// and clocks. The level of an unchanged program therefore moves from session to session by more than its runs scatter,
// and runs of two sessions are not samples of one population. Pure functions of numbers.
//
// Sessions of one day lie closer together than sessions of several days. So at most one session of each calendar day
// (UTC) counts, the newest, and the known sessions must cover at least as many days as lie between the sides. K evenly
// spread days cover (K + 1) / (K - 1) times the days from the first known one to the last.
//
// The model: log value = level + shift of the session + noise of the run. Shift and noise are Gaussian, with variances
// b and w. In the difference of two means over runs, each session has a weight: its share of the current runs less its
// share of the baseline's. With C the sum of the squared weights and m and n the numbers of runs of the sides, the
// difference has the variance
//     C b + (1/m + 1/n) w.
// The store knows the levels of K other sessions of the same cell on the same machine, with r runs each. Their sample
// variance s2 estimates b + w h, where h is the mean of 1/r. So the variance is
//     C s2 + w (1/m + 1/n - C h), where the second part is never below 0.
// Its degrees of freedom combine those of its parts by Satterthwaite's formula (Biometrics Bulletin 2, 1946, p. 110): K
// - 1 for s2, and for w those of the scatter of both sides' runs within their sessions.
//
// Where the sides have no fewer runs than the known sessions, the second part is 0. Student's t with K - 1 degrees of
// freedom is then exact, or conservative where the sides have more runs. Three more effects make the interval wider,
// never narrower: a night's level is a median, which scatters more than a mean; changes of the program between the
// known sessions are in s2; and shifts that all cells of a session share are in the s2 of every cell, which averaging
// over cells does not reduce. Two effects make s2 too small, and only --ab avoids them: rare sessions that lie far out
// when none of the known ones did (harness/selftest/README.md), and a drift that is slow compared with the days that
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

// Days since 1970-01-01 (UTC); nullopt if the day is unknown.
using SessionDay = std::optional<std::int64_t>;

// Another session of the same cell.
struct SessionLevel {
  std::string sweep_id;
  SessionDay day = {};
  std::string machine;   // fingerprint
  double log_level = 0;  // median of the logs of its runs
  std::size_t runs = 1;  // from which the level was computed
};

// The known sessions of one metric, by matrix and run id.
using SessionLevels = std::map<std::pair<std::string, std::string>, std::vector<SessionLevel>>;
using KnownSessions = std::map<std::string, SessionLevels>;  // by metric

// With fewer known sessions, no verdict is given. Four degrees of freedom make the interval 1.8 times as wide as full
// knowledge would, three make it 2.3 times as wide, and an unusual session has hardly had a chance to occur.
inline constexpr std::size_t kFewestSessions = 5;

struct SessionSpread {
  std::size_t sessions = 0;  // number of days with a session; a session of unknown day counts as a day
  double deviation = 0;      // standard deviation of the levels, log units; needs two sessions
  double runs_share = 0;     // mean of 1 / runs

  // nullopt where fewer than two days are known: then nobody can tell whether they are too few.
  std::optional<std::int64_t> covered_days = {};

  bool known() const { return sessions >= kFewestSessions; }
};

// False for metrics without noise (spec::MetricNoise): all their sessions are samples of one population. True for all
// others. That includes the resident set, because the system decides about pages.
bool varies_between_sessions(const std::string& metric);

// The runs of one side: the value of each, and its session.
struct SessionRuns {
  std::vector<double> logs;
  std::vector<std::string> sessions;  // one for each log; different texts stand for different sessions
  std::vector<SessionDay> days = {};  // of each log; may be empty
};

// The largest number of days from a run of one side to a run of the other; nullopt where a side has no dated run.
std::optional<std::int64_t> days_apart(const SessionRuns& a, const SessionRuns& b);

// The name in SessionRuns of a sweep's session. It differs from every name that is given to runs without a sweep.
std::string session_name(const std::string& sweep_id);

// The spread of the sessions to which no run of the two sides belongs: sessions of the sides must not vouch for
// themselves. Sessions of older runs of a side that are not in its mean count. `levels` are oldest first.
SessionSpread session_spread(const std::vector<SessionLevel>& levels, const SessionRuns& a, const SessionRuns& b);

// C of the model above: 0 where both sides have the same sessions in the same shares.
double session_weight(const SessionRuns& a, const SessionRuns& b);

// Mean of a less mean of b with the error of the model above. Neither side may be empty, and the spread must be known.
// Without degrees of freedom where the known sessions have more runs and say too little, and no session of a side has
// two runs.
LogDifference session_difference(const SessionRuns& a, const SessionRuns& b, const SessionSpread& spread);

}  // namespace perfbench::harness
