// The data of a comparison of two sides: process runs in pairs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "harness/evidence/attempt.h"
#include "harness/matrix/matrix.h"
#include "harness/stats/pairs.h"

namespace perfbench::harness {

// One cell of the matrix as each side runs it.
struct AbCell {
  std::string label;  // the matrix's label, without settings of a side
  Cell a;
  Cell b;
  std::optional<std::string> not_comparable;    // why its pairs cannot run
  bool in_turns = false;                        // whether the two runs of a pair take turns (turns.h)
  std::string apart_because = {};               // otherwise: why they run one after the other
  std::string plan = {};                        // how its pairs and turns were planned (--detect), for its notes
  std::optional<std::string> not_planned = {};  // why none of its pairs runs

  const Cell& of(Side side) const { return side == Side::a ? a : b; }
  Cell& of(Side side) { return side == Side::a ? a : b; }
};

// Core time that other processes took while something of ours ran.
struct ForeignLoad {
  double steal_fraction = 0;    // share of our cores' time that the hypervisor took
  double foreign_fraction = 0;  // share of our cores' time that other processes used
  std::string busiest;  // "ninja (pid 812) on 0.90 cores", among processes that still exist; empty: none stands out
};

// Activity of a run during the steps of the other run, as far as they were watched. Both are 0 if no step was watched.
struct WatchedWait {
  double cpu_s = 0;   // processor time of all its threads
  double wall_s = 0;  // duration of the steps that were watched

  WatchedWait& operator+=(const WatchedWait& other);
};

// The number of cores in use: 1 is one thread that never rests. nullopt if less than kFewestWatchedSeconds were
// watched.
inline constexpr double kFewestWatchedSeconds = 0.01;
std::optional<double> cores_while_waiting(const WatchedWait& wait);

struct SideRun {
  std::int64_t attempt_key = 0;  // key in the store
  AttemptState state = AttemptState::ok;
  std::string reason;                     // for a state other than ok
  std::map<std::string, double> metrics;  // by name in the metric catalog
  ForeignLoad load;                       // while it ran
  WatchedWait waits = {};                 // in a pair in turns: what it computed while the other side stepped
  std::optional<std::int64_t> instructions;
  std::int64_t wall_ns = 0;
};

// Why a pair does not count.
enum class Discard { none, failed, quarantined, steal, foreign_load, probe_moved, other_speed };

struct ExecutedPair {
  std::size_t cell = 0;    // index
  std::size_t number = 1;  // among this cell's pairs, counted from 1, including discarded ones
  Side first = Side::a;    // in a pair in turns: the side that was started first
  bool in_turns = false;
  std::optional<double> step_log_ratio = {};    // in turns: ln(B / A) of the step time (harness/stats/pairs.h)
  std::optional<double> order_log_effect = {};  // see harness/stats/pairs.h
  SideRun a;
  SideRun b;
  Discard discard = Discard::none;
  std::string discarded;  // the same reason as a sentence

  const SideRun& of(Side side) const { return side == Side::a ? a : b; }
  SideRun& of(Side side) { return side == Side::a ? a : b; }
  bool kept() const { return discard == Discard::none; }
  // Duration of the pair: in turns both runs are alive at once, otherwise one follows the other.
  std::int64_t wall_ns() const { return in_turns ? std::max(a.wall_ns, b.wall_ns) : a.wall_ns + b.wall_ns; }
};

// The engine did not finish. Quarantined and cancelled runs are not failures, because circumstances caused them.
inline bool is_failed_run(const SideRun& run) {
  return run.state != AttemptState::ok && run.state != AttemptState::quarantined &&
         run.state != AttemptState::cancelled;
}

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::Discard> {
  using D = perfbench::harness::Discard;
  static constexpr std::array kNames{std::pair{D::none, "none"},
                                     std::pair{D::failed, "failed"},
                                     std::pair{D::quarantined, "quarantined"},
                                     std::pair{D::steal, "steal"},
                                     std::pair{D::foreign_load, "foreign_load"},
                                     std::pair{D::probe_moved, "probe_moved"},
                                     std::pair{D::other_speed, "other_speed"}};
};
