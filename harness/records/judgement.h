// The basis of a verdict, as sentences that were written down when the verdict was given.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/stats/verdict.h"
#include "workloads/spec/enum_names.h"
#include "workloads/spec/fields.h"

namespace perfbench::harness {

enum class JudgementKind { pairs, baseline, night };

enum class LedgerPart {
  rule,       // level, margin, and what is left out
  reference,  // the reference of the comparison: sides, a baseline, the control
  nights,     // the nights or sessions on which it is based
  look,       // the look at which it was decided
  answer,     // the verdict with its reason
  note,       // other remarks
  alert,      // id of the alert that it opened or continued
};

struct LedgerLine {
  std::string cell;    // label; empty: all cells
  std::string metric;  // empty: the cell as a whole
  LedgerPart part = LedgerPart::rule;
  std::string text;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"cell", "label of the cell; empty: all cells"}, self.cell);
    f(Field{"metric", "name of the metric; empty: the cell as a whole"}, self.metric);
    f(Field{"part", "kind of the sentence"}, self.part);
    f(Field{"text", "in a sentence"}, self.text);
  }
};

struct Judgement {
  std::string judgement_id;  // the id of a comparison in pairs, or the sweep of a night
  JudgementKind kind = JudgementKind::pairs;
  std::string matrix;
  std::string made_utc;
  std::vector<LedgerLine> lines = {};

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"judgement_id", "id of a comparison in pairs, or sweep of a night"}, self.judgement_id);
    f(Field{"kind", "what was decided"}, self.kind);
    f(Field{"matrix", "name of the matrix"}, self.matrix);
    f(Field{"made_utc", "when it was decided"}, self.made_utc);
    f(Field{"lines", "the basis of the decision, in order"}, self.lines);
  }
};

// The verdict of a night as a whole.
struct NightAnswer {
  std::string matrix;
  std::string sweep_id;
  std::string made_utc;
  Verdict verdict = Verdict::inconclusive;
};

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::JudgementKind> {
  using K = perfbench::harness::JudgementKind;
  static constexpr std::array kNames{std::pair{K::pairs, "pairs"}, std::pair{K::baseline, "baseline"},
                                     std::pair{K::night, "night"}};
};
template <>
struct perfbench::spec::EnumNames<perfbench::harness::LedgerPart> {
  using P = perfbench::harness::LedgerPart;
  static constexpr std::array kNames{std::pair{P::rule, "rule"},     std::pair{P::reference, "reference"},
                                     std::pair{P::nights, "nights"}, std::pair{P::look, "look"},
                                     std::pair{P::answer, "answer"}, std::pair{P::note, "note"},
                                     std::pair{P::alert, "alert"}};
};
