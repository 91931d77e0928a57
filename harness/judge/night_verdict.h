// The results of a night: the findings of its screen, after the comparison in the same night. A pure function.
//
// The screen is designed to report a shift without cause a few times a year and series. So a shift alone does not make
// an alert; fresh pairs of the last good engine and tonight's have to show the same. Findings that need no pairs are
// kept: vanished cells and changes of the machine, because no engine is responsible for them, or none can be run.
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
  refuted,      // the pairs show no such difference: chance of the nights, or the machine
  undecided,    // the pairs were inconclusive
  unconfirmed,  // there were no pairs; `why` has the reason
};

// A question that pairs can decide: a cell, and the sweep of the last good night whose engine is the baseline. Two
// metrics of a cell may have shifted in different nights.
using NightQuestion = std::pair<std::string, std::string>;
NightQuestion question_of(const Finding& finding);

// The pairs of one night: A is a last good engine, B is tonight's.
struct NightComparison {
  std::string comparison_id;
  std::vector<CellVerdict> cells;
  std::set<NightQuestion> answers = {};
};

// Where all steps of a cell changed, their mean did as well: one difference under two names. Leaves out what
// step_time_mean_s shows of a cell whose step_time_s shows the same kind of change.
std::vector<Finding> without_repeats(std::vector<Finding> screened);

// The series that pairs have to decide, given those with too few nights for a screen. Leaves out step_time_mean_s of a
// cell whose step_time_s has enough: nights that were stored before there was a mean step leave no cell unseen.
std::vector<Finding> that_need_pairs(std::vector<Finding> unscreened);

struct NightFinding {
  Finding finding;  // if confirmed: with the ratio of the pairs, its interval and the largest causes
  Confirmation confirmation = Confirmation::unconfirmed;
  std::string why;  // a sentence
};

// Shifts that cannot be an accident of one night, by cell and metric, with the reason in words: "seen on 4 nights".
using LastingShifts = std::map<std::pair<std::string, std::string>, std::string>;

// For a question that was not compared: the state of its findings, unconfirmed or refuted, and the reason.
struct NoPair {
  Confirmation confirmation = Confirmation::unconfirmed;
  std::string why;
};
using NoPairs = std::map<NightQuestion, NoPair>;

// Library changes between the night of the last good engine and tonight, whether or not that engine ran that night. No
// pair can show the effect of a new library, because both sides use it.
using LibraryChanges = std::map<NightQuestion, std::string>;

// Adds to the findings of the screen everything else that the pairs of their cells show to be worse (memory, loss,
// start-up), with the nights of the cell's first finding. If libraries changed, nothing is refuted. A finding that the
// noise probe explains counts as a change of the machine (FindingKind::environment) only if the pairs do not show a
// difference between the engines, because the probe runs inside the engine, whose threads and clocks can move it. A
// refuted shift for the worse that lasts is a finding of that kind, too: the code is not its cause, but something is.
std::vector<NightFinding> weigh_findings(const std::vector<Finding>& screened,
                                         const std::vector<NightComparison>& comparisons, const NoPairs& no_pairs,
                                         const LibraryChanges& libraries = {}, const LastingShifts& lasting = {});

// Prepares a finding of tonight for pairs with the engine of the night `anchor`, called "the control" or otherwise. Its
// last good night becomes that night, unless it has a later one already: the last night before its creep began.
void ask_since(Finding& tonight, const std::string& anchor_name, const NightId& anchor);

// Cells that have become worse than with the control's engine (A, which stays the same; B is tonight's): a slow creep,
// which no two nights show. `measured` are tonight's series, each as a finding from the control's first night to
// tonight. Findings in `known` that already make an alert are not repeated.
std::vector<NightFinding> weigh_creep(const std::vector<Finding>& measured, const NightComparison& comparison,
                                      const std::vector<NightFinding>& known);

// A cell of tonight that nothing judged: it has too few nights for the screen, and no pairs could decide.
struct UnseenCell {
  std::string cell;
  std::vector<std::string> metrics;  // empty: it was not measured
  std::string why;
  bool undecided = false;  // pairs ran, but were inconclusive
};

struct Unscreened {
  std::vector<NightFinding> worse;
  std::vector<UnseenCell> unseen;  // in the order of `series`
};

// Compares series that have too few nights for the screen with the last good night in pairs. `worse` contains what the
// pairs show to be worse, unless `known` already does. `unseen` contains what they leave open: a series without pairs
// (for example because the engine is the same bit for bit), and, if libraries changed, all that is not worse. `series`
// are findings from the last good night to tonight.
Unscreened weigh_unscreened(const std::vector<Finding>& series, const std::vector<NightComparison>& comparisons,
                            const NoPairs& no_pairs, const std::vector<NightFinding>& known,
                            const LibraryChanges& libraries = {});

// Whether somebody should be notified of what the pairs or the facts show.
bool makes_alert(const NightFinding& finding);

// For overall(), with SAME for a night without findings. REGRESSED: a bad finding that is confirmed or needs no
// confirmation. INCONCLUSIVE: a finding that could be neither confirmed nor refuted; a part of the night that could not
// run (`not_run`: the control, the last good engine); or a cell that stays `unseen`.
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
