// What a comparison of two sides is made of: process runs, two to a pair.
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
  std::string label;  // as the matrix names it, without what a side sets
  Cell a;
  Cell b;
  std::optional<std::string> not_comparable;    // why no pair of it can run
  bool in_turns = false;                        // the two runs of a pair take turns (turns.h)
  std::string apart_because = {};               // else: why they follow each other
  std::string plan = {};                        // how its pairs and turns were planned (--detect), for its notes
  std::optional<std::string> not_planned = {};  // why none of them are run

  const Cell& of(Side side) const { return side == Side::a ? a : b; }
  Cell& of(Side side) { return side == Side::a ? a : b; }
};

// What others took from the cores while something of ours ran.
struct ForeignLoad {
  double steal_fraction = 0;    // of the time of our cores, taken by the hypervisor
  double foreign_fraction = 0;  // of the time of our cores, used by others
  std::string busiest;          // "ninja (pid 812) on 0.90 cores", of those still alive; empty: none stands out
};

// Of the steps of the other run, as far as they were watched. Both are 0 where none was.
struct WatchedWait {
  double cpu_s = 0;   // processor time of all its threads
  double wall_s = 0;  // of the steps that were watched

  WatchedWait& operator+=(const WatchedWait& other);
};

// Of a core, a fraction: 1 is one thread that never rests. Nothing where less than kFewestWatchedSeconds were watched.
inline constexpr double kFewestWatchedSeconds = 0.01;
std::optional<double> cores_while_waiting(const WatchedWait& wait);

struct SideRun {
  std::int64_t attempt_key = 0;  // in the store
  AttemptState state = AttemptState::ok;
  std::string reason;                     // of a state that is not ok
  std::map<std::string, double> metrics;  // of the metric catalog
  ForeignLoad load;                       // while it ran
  WatchedWait waits = {};                 // of a pair in turns: what it computed while the other side stepped
  std::optional<std::int64_t> instructions;
  std::int64_t wall_ns = 0;
};

// Why a pair does not count.
enum class Discard { none, failed, quarantined, steal, foreign_load, probe_moved, other_speed };

struct ExecutedPair {
  std::size_t cell = 0;    // index
  std::size_t number = 1;  // of this cell's pairs, counted from 1, discarded ones too
  Side first = Side::a;    // of a pair in turns: to start
  bool in_turns = false;
  std::optional<double> step_log_ratio = {};    // in turns: ln(B / A) of the step time (harness/stats/pairs.h)
  std::optional<double> order_log_effect = {};  // the same file
  SideRun a;
  SideRun b;
  Discard discard = Discard::none;
  std::string discarded;  // the same as a sentence

  const SideRun& of(Side side) const { return side == Side::a ? a : b; }
  SideRun& of(Side side) { return side == Side::a ? a : b; }
  bool kept() const { return discard == Discard::none; }
  // How long the pair took: in turns both runs are alive at once, else one follows the other.
  std::int64_t wall_ns() const { return in_turns ? std::max(a.wall_ns, b.wall_ns) : a.wall_ns + b.wall_ns; }
};

// Neither an outcome of measuring (ok) nor of circumstances (quarantined, cancelled): the engine did not finish.
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
