#include "harness/judge/night_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "harness/system/utc.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kCausesKept = 3;
constexpr double kNsPerS = 1e9;
const NoPair kNotCompared{.why = "it was not compared tonight"};

struct Judged {
  const NightComparison* comparison = nullptr;
  const CellVerdict* cell = nullptr;
};

Judged find_cell(const NightComparison& comparison, const std::string& label) {
  for (const auto& cell : comparison.cells) {
    if (cell.label == label) return {&comparison, &cell};
  }
  return {};
}

Judged find_answer(const std::vector<NightComparison>& comparisons, const NightQuestion& question) {
  for (const auto& comparison : comparisons) {
    if (comparison.answers.contains(question)) return find_cell(comparison, question.first);
  }
  return {};
}

const MetricVerdict* find_metric(const CellVerdict& cell, const std::string& metric) {
  const auto found = std::find_if(cell.metrics.begin(), cell.metrics.end(),
                                  [&](const MetricVerdict& m) { return m.rule.metric == metric; });
  return found == cell.metrics.end() ? nullptr : &*found;
}

void take_evidence(Finding& finding, const Decision& decision, const Judged& judged) {
  finding.ratio = decision.ratio;
  if (decision.ratio_95) {
    finding.ratio_low = decision.ratio_95->low;
    finding.ratio_high = decision.ratio_95->high;
  }
  finding.confirmation = {judged.comparison->comparison_id};
  if (finding.series.metric != "step_time_s" || !judged.cell->attribution) return;
  const auto& attribution = *judged.cell->attribution;
  for (const auto& share : attribution.shares) {
    if (finding.attribution.size() == kCausesKept || attribution.difference_s() == 0) break;
    finding.attribution.push_back({.name = share.name,
                                   .ns = kNsPerS * share.difference_s(),
                                   .share = share.difference_s() / attribution.difference_s()});
  }
}

// Weighs a finding that the noise probe explains.
NightFinding weigh_environment(NightFinding out, const Decision& decision, const Judged& judged) {
  out.why = decision.detail;
  if (decision.verdict == Verdict::regressed || decision.verdict == Verdict::improved) {
    const bool worse = decision.verdict == Verdict::regressed;
    out.finding.kind = worse ? bad_kind_of(out.finding.series.metric) : FindingKind::improvement;
    out.confirmation = Confirmation::confirmed;
    take_evidence(out.finding, decision, judged);
  } else if (decision.verdict == Verdict::same) {
    out.confirmation = Confirmation::not_needed;
    out.why = "the pairs show no difference: " + decision.detail;
  } else {
    out.confirmation = Confirmation::undecided;
  }
  return out;
}

NightFinding weigh(const Finding& screened, const Judged& judged) {
  NightFinding out{.finding = screened};
  if (judged.cell->whole) {
    const auto& decision = *judged.cell->whole;
    out.confirmation = decision.verdict == Verdict::regressed ? Confirmation::confirmed : Confirmation::undecided;
    out.why = decision.detail;
    if (out.confirmation != Confirmation::confirmed) return out;
    out.finding.confirmation = {judged.comparison->comparison_id};
    if (screened.kind == FindingKind::environment) out.finding.kind = bad_kind_of(screened.series.metric);
    return out;
  }
  const auto* metric = find_metric(*judged.cell, screened.series.metric);
  if (metric == nullptr) {
    out.confirmation = Confirmation::undecided;
    out.why = "the pairs did not measure " + screened.series.metric;
    return out;
  }
  const auto& decision = metric->decided.decision;
  if (screened.kind == FindingKind::environment) return weigh_environment(std::move(out), decision, judged);
  out.why = decision.detail;
  const auto wanted = is_bad(screened.kind) ? Verdict::regressed : Verdict::improved;
  if (decision.verdict == wanted) {
    out.confirmation = Confirmation::confirmed;
    take_evidence(out.finding, decision, judged);
  } else {
    const bool undecided = decision.verdict == Verdict::inconclusive || decision.verdict == Verdict::not_comparable;
    out.confirmation = undecided ? Confirmation::undecided : Confirmation::refuted;
  }
  return out;
}

std::string with_tonights_libraries(const std::string& changes) {
  return "although that engine could not use the libraries of its own night, and new libraries of tonight affect both "
         "sides: " +
         changes;
}

// Something that the pairs show to be worse, although no screen reported it.
NightFinding found_worse(Finding finding, const Decision& decision, const Judged& judged) {
  finding.kind = bad_kind_of(finding.series.metric);
  finding.attribution.clear();
  take_evidence(finding, decision, judged);
  return {.finding = std::move(finding), .confirmation = Confirmation::confirmed, .why = decision.detail};
}

// Whether `known` already has an alert that says that it is worse.
bool is_said(const Finding& series, const std::vector<NightFinding>& known) {
  const auto kind = bad_kind_of(series.series.metric);
  return std::any_of(known.begin(), known.end(), [&](const NightFinding& finding) {
    return finding.finding.series == series.series && finding.finding.kind == kind && makes_alert(finding);
  });
}

constexpr const char* kMedianStep = "step_time_s";
constexpr const char* kMeanStep = "step_time_mean_s";

// A series of the mean step; then that of the same cell's median step.
std::optional<SeriesId> median_series_of(const SeriesId& series) {
  if (series.metric != kMeanStep) return std::nullopt;
  auto out = series;
  out.metric = kMedianStep;
  return out;
}

bool has_regressed(const CellVerdict& cell, const char* metric) {
  const auto* found = find_metric(cell, metric);
  return found != nullptr && found->decided.decision.verdict == Verdict::regressed;
}

// If every step takes longer, so do the mean step and the 90th percentile: one difference under several names. Stalls
// move these two together, so the mean step speaks for both.
bool says_what_another_says(const CellVerdict& cell, const MetricVerdict& metric) {
  const bool of_p90 = metric.rule.metric == "step_time_p90_s";
  const bool of_mean = metric.rule.metric == kMeanStep || spec::unit_of(metric.rule.metric) == "1/s";
  if (of_p90 && has_regressed(cell, kMeanStep)) return true;
  return (of_mean || of_p90) && has_regressed(cell, kMedianStep);
}

// Pairs cannot judge a shift of the control. If the engine is equal, that confirms that the probe explains the finding.
NightFinding answer_without_pairs(const Finding& finding, const NoPair* reason) {
  const bool environment = finding.kind == FindingKind::environment;
  if (environment && reason == nullptr) return {finding, Confirmation::not_needed, finding.detail};
  const auto& without = reason == nullptr ? kNotCompared : *reason;
  const bool acquitted = environment && without.confirmation == Confirmation::refuted;
  return {finding, acquitted ? Confirmation::not_needed : without.confirmation, without.why};
}

void blame_the_machine(NightFinding& finding, const std::string& lasts) {
  finding.finding.kind = FindingKind::environment;
  finding.confirmation = Confirmation::not_needed;
  finding.why += "; the shift is not an accident either (" + lasts + "): the machine or something on it changed";
  const auto& facts = finding.finding.environment;
  for (const auto& fact : facts) {
    finding.why +=
        fmt::format("{} {} {} -> {}", &fact == &facts.front() ? ":" : ",", fact.field, fact.left, fact.right);
  }
  if (facts.empty()) finding.why += ", in no recorded fact";
}

// Adds everything else that the pairs of a cell show to be worse.
void add_others(std::vector<NightFinding>& out, const Finding& asked, const Judged& judged,
                std::set<std::pair<std::string, std::string>>& known) {
  for (const auto& metric : judged.cell->metrics) {
    const auto& decision = metric.decided.decision;
    if (decision.verdict != Verdict::regressed || says_what_another_says(*judged.cell, metric)) continue;
    if (!known.emplace(judged.cell->label, metric.rule.metric).second) continue;
    auto other = asked;
    other.series.metric = metric.rule.metric;
    other.detail = "found by the pairs that " + asked.series.metric + " asked for";
    out.push_back(found_worse(std::move(other), decision, judged));
  }
}

}  // namespace

NightQuestion question_of(const Finding& finding) {
  return {finding.series.cell, finding.last_good.sweep_id};
}

std::vector<Finding> without_repeats(std::vector<Finding> screened) {
  const auto all = screened;
  std::erase_if(screened, [&all](const Finding& finding) {
    const auto median = median_series_of(finding.series);
    return median && std::any_of(all.begin(), all.end(), [&](const Finding& other) {
             return other.series == *median && other.kind == finding.kind;
           });
  });
  return screened;
}

std::vector<Finding> that_need_pairs(std::vector<Finding> unscreened) {
  const auto all = unscreened;
  std::erase_if(unscreened, [&all](const Finding& series) {
    const auto median = median_series_of(series.series);
    return median &&
           std::none_of(all.begin(), all.end(), [&](const Finding& other) { return other.series == *median; });
  });
  return unscreened;
}

std::vector<NightFinding> weigh_findings(const std::vector<Finding>& screened,
                                         const std::vector<NightComparison>& comparisons, const NoPairs& no_pairs,
                                         const LibraryChanges& libraries, const LastingShifts& lasting) {
  std::vector<NightFinding> out;
  std::set<std::pair<std::string, std::string>> known;
  for (const auto& finding : screened) known.emplace(finding.series.cell, finding.series.metric);
  for (const auto& finding : screened) {
    if (finding.kind == FindingKind::vanished_cell) {
      out.push_back({finding, Confirmation::not_needed, finding.detail});
      continue;
    }
    const auto judged = find_answer(comparisons, question_of(finding));
    if (judged.cell != nullptr) {
      out.push_back(weigh(finding, judged));
      add_others(out, finding, judged, known);
      continue;
    }
    const auto reason = no_pairs.find(question_of(finding));
    out.push_back(answer_without_pairs(finding, reason == no_pairs.end() ? nullptr : &reason->second));
  }
  for (auto& finding : out) {
    const auto changed = libraries.find(question_of(finding.finding));
    if (finding.confirmation != Confirmation::refuted || changed == libraries.end()) continue;
    finding.confirmation = Confirmation::undecided;
    finding.why += "; " + with_tonights_libraries(changed->second);
  }
  for (auto& finding : out) {
    const auto lasts = lasting.find({finding.finding.series.cell, finding.finding.series.metric});
    if (finding.confirmation != Confirmation::refuted || lasts == lasting.end()) continue;
    if (is_bad(finding.finding.kind)) blame_the_machine(finding, lasts->second);
  }
  return out;
}

void ask_since(Finding& tonight, const std::string& anchor_name, const NightId& anchor) {
  tonight.detail = fmt::format("crept since {} of {}", anchor_name, date_of(anchor.started_utc));
  if (tonight.last_good.started_utc > anchor.started_utc) {
    tonight.detail += ", night by night since " + date_of(tonight.last_good.started_utc);
  } else {
    tonight.last_good = anchor;
  }
}

std::vector<NightFinding> weigh_creep(const std::vector<Finding>& measured, const NightComparison& comparison,
                                      const std::vector<NightFinding>& known) {
  std::vector<NightFinding> out;
  for (const auto& series : measured) {
    const auto judged = find_cell(comparison, series.series.cell);
    if (judged.cell == nullptr) continue;
    const auto* metric = find_metric(*judged.cell, series.series.metric);
    if (metric == nullptr || metric->decided.decision.verdict != Verdict::regressed) continue;
    if (is_said(series, known) || says_what_another_says(*judged.cell, *metric)) continue;
    out.push_back(found_worse(series, metric->decided.decision, judged));
  }
  return out;
}

Unscreened weigh_unscreened(const std::vector<Finding>& series, const std::vector<NightComparison>& comparisons,
                            const NoPairs& no_pairs, const std::vector<NightFinding>& known,
                            const LibraryChanges& libraries) {
  Unscreened out;
  const auto stays_unseen = [&out](const SeriesId& what, const std::string& why, bool undecided = false) {
    auto cell = std::find_if(out.unseen.begin(), out.unseen.end(),
                             [&](const UnseenCell& c) { return c.cell == what.cell && c.why == why; });
    if (cell == out.unseen.end()) {
      cell = out.unseen.insert(out.unseen.end(),
                               UnseenCell{.cell = what.cell, .metrics = {}, .why = why, .undecided = undecided});
    }
    if (std::find(cell->metrics.begin(), cell->metrics.end(), what.metric) == cell->metrics.end()) {
      cell->metrics.push_back(what.metric);
    }
  };
  for (const auto& one : series) {
    const auto judged = find_answer(comparisons, question_of(one));
    const auto changed = libraries.find(question_of(one));
    if (judged.cell == nullptr) {
      const auto reason = no_pairs.find(question_of(one));
      const auto without = reason == no_pairs.end() ? kNotCompared : reason->second;
      const bool by_libraries = without.confirmation == Confirmation::refuted && changed != libraries.end();
      stays_unseen(one.series, without.why + (by_libraries ? "; " + with_tonights_libraries(changed->second) : ""));
      continue;
    }
    const auto* metric = find_metric(*judged.cell, one.series.metric);
    if (metric == nullptr && !judged.cell->whole) {
      stays_unseen(one.series, "the pairs did not measure it");
      continue;
    }
    const auto& decision = judged.cell->whole ? *judged.cell->whole : metric->decided.decision;
    if (decision.verdict == Verdict::inconclusive || decision.verdict == Verdict::not_comparable) {
      stays_unseen(one.series, decision.detail, true);
    } else if (decision.verdict == Verdict::regressed) {
      const bool said = is_said(one, known) || is_said(one, out.worse);
      const bool repeats = metric != nullptr && says_what_another_says(*judged.cell, *metric);
      if (!said && !repeats) out.worse.push_back(found_worse(one, decision, judged));
    } else if (changed != libraries.end()) {
      stays_unseen(one.series, decision.detail + "; " + with_tonights_libraries(changed->second), true);
    }
  }
  return out;
}

bool makes_alert(const NightFinding& finding) {
  const bool is_sure =
      finding.confirmation == Confirmation::confirmed || finding.confirmation == Confirmation::not_needed;
  return is_sure && finding.finding.kind != FindingKind::noisier;
}

std::vector<Verdict> verdicts_of(const std::vector<NightFinding>& findings, const std::vector<std::string>& not_run,
                                 const std::vector<UnseenCell>& unseen) {
  std::vector<Verdict> out{not_run.empty() && unseen.empty() ? Verdict::same : Verdict::inconclusive};
  for (const auto& finding : findings) {
    if (!is_bad(finding.finding.kind)) continue;
    // A change of the machine is not a regression of the code, but somebody should look at it.
    const bool machine = finding.finding.kind == FindingKind::environment;
    if (makes_alert(finding) && !machine) {
      out.push_back(Verdict::regressed);
    } else if (finding.confirmation != Confirmation::refuted) {
      out.push_back(Verdict::inconclusive);
    }
  }
  return out;
}

}  // namespace perfbench::harness
