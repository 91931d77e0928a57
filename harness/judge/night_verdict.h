// What the findings of a night's screen come to, after the comparison of the same night. A pure function.
//
// The screen is made to speak up a few times a year and series without cause, so a shift of one is no alert by itself:
// it is when fresh pairs of the last good engine and tonight's show the same. What needs no pairs, because no engine
// can be held responsible or none is there to be run, keeps its finding: vanished cells and changes of the machine.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/cell_verdict.h"
#include "harness/records/finding.h"
#include "workloads/spec/enum_names.h"

namespace perfbench::harness {

enum class Confirmation {
  confirmed,    // the pairs show it
  not_needed,   // known without pairs
  refuted,      // the pairs show no such difference: a chance of the nights, or the machine
  undecided,    // the pairs could not tell
  unconfirmed,  // there were no pairs, and `why` says why
};

// What pairs can decide: a cell, and the sweep of the last good night whose engine it is held against. Two metrics of a
// cell may have shifted in different nights.
using NightQuestion = std::pair<std::string, std::string>;
NightQuestion question_of(const Finding& finding);

// Pairs of one night: A a last good engine, B tonight's.
struct NightComparison {
  std::string comparison_id;
  std::vector<CellVerdict> cells;
  std::set<NightQuestion> answers = {};
};

struct NightFinding {
  Finding finding;  // of a confirmed one with the ratio of the pairs, its interval and the largest causes
  Confirmation confirmation = Confirmation::unconfirmed;
  std::string why;  // a sentence
};

// Shifts that cannot be a chance of one night, by cell and metric, each with why in words: "seen on 4 nights".
using LastingShifts = std::map<std::pair<std::string, std::string>, std::string>;

// What was not compared: what its findings are for that, unconfirmed or refuted, and why.
struct NoPair {
  Confirmation confirmation = Confirmation::unconfirmed;
  std::string why;
};
using NoPairs = std::map<NightQuestion, NoPair>;

// Where the last good engine ran with other libraries in its own night than tonight, or would have, and which those
// are. No pair can show what a new library brought: both sides have it.
using LibraryChanges = std::map<NightQuestion, std::string>;

// Beside the findings of the screen come what else the pairs of their cells show to be worse (memory, loss, start-up),
// with the nights of the cell's first finding. Where libraries changed nothing is refuted. A finding that the noise
// probe explains is the machine's (FindingKind::environment) only where pairs do not show the engine to differ: the
// probe runs inside the engine, whose threads and clocks can move it. A refuted shift for the worse that lasts is a
// finding of that kind too: the code is not its cause, and something is.
std::vector<NightFinding> weigh_findings(const std::vector<Finding>& screened,
                                         const std::vector<NightComparison>& comparisons, const NoPairs& no_pairs,
                                         const LibraryChanges& libraries = {}, const LastingShifts& lasting = {});

// What pairs of the control's engine (A, which stays the same) and tonight's (B) show to be worse by now: a slow creep,
// which no two nights show. `measured` are tonight's series, each as a finding from the control's first night to
// tonight; what makes an alert among `known` already is not said again.
std::vector<NightFinding> weigh_creep(const std::vector<Finding>& measured, const NightComparison& comparison,
                                      const std::vector<NightFinding>& known);

// A cell of tonight that nothing judged: it has too few nights for the screen, and no pairs could decide.
struct UnseenCell {
  std::string cell;
  std::vector<std::string> metrics;  // empty: it was not measured
  std::string why;
  bool undecided = false;  // pairs ran, and could not decide
};

struct Unscreened {
  std::vector<NightFinding> worse;
  std::vector<UnseenCell> unseen;  // in the order of `series`
};

// Series that have too few nights to be screened, compared with the last good night in pairs. `worse` is what the pairs
// show to be worse, unless `known` says it. `unseen` is what they leave open: a series without pairs, be it that the
// engine is the same bit for bit, and where libraries changed all that is not worse. `series` are findings from the
// last good night to tonight.
Unscreened weigh_unscreened(const std::vector<Finding>& series, const std::vector<NightComparison>& comparisons,
                            const NoPairs& no_pairs, const std::vector<NightFinding>& known,
                            const LibraryChanges& libraries = {});

// Whether somebody should be told: what the pairs or the facts show.
bool makes_alert(const NightFinding& finding);

// For overall(), with SAME for a night that has nothing to say. REGRESSED: a bad finding that is confirmed or needs no
// confirmation. INCONCLUSIVE: one that nobody could confirm or refute, or `not_run`, what the night needed and could
// not run (the control, the last good engine), or something that stays `unseen`.
std::vector<Verdict> verdicts_of(const std::vector<NightFinding>& findings,
                                 const std::vector<std::string>& not_run = {},
                                 const std::vector<UnseenCell>& unseen = {});

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::Confirmation> {
  using C = perfbench::harness::Confirmation;
  static constexpr std::array kNames{std::pair{C::confirmed, "confirmed"}, std::pair{C::not_needed, "not needed"},
                                     std::pair{C::refuted, "refuted"}, std::pair{C::undecided, "undecided"},
                                     std::pair{C::unconfirmed, "unconfirmed"}};
};
