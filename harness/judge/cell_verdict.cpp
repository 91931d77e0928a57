#include "harness/judge/cell_verdict.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "harness/stats/decision.h"
#include "harness/stats/false_discovery.h"
#include "harness/stats/log_difference.h"
#include "harness/stats/proportion.h"
#include "harness/stats/statistics.h"
#include "harness/stats/trend.h"

namespace perfbench::harness {
namespace {

std::optional<double> value_of(const SideRun& run, const std::string& metric) {
  const auto found = run.metrics.find(metric);
  if (found == run.metrics.end()) return std::nullopt;
  return found->second;
}

// A number that is the same in every run needs no steady machine: for an exact metric, all pairs count whose runs ended
// well.
bool counts_for(const ExecutedPair& pair, const MetricRule& rule) {
  if (rule.noise == spec::MetricNoise::measured) return pair.kept();
  return pair.a.state == AttemptState::ok && pair.b.state == AttemptState::ok;
}

struct Values {
  std::vector<Pair> pairs;
  std::vector<double> a, b;
};

// For pairs in turns, the ratio of the median step comes from its turns. The mean step, and the rates that are computed
// from it, stay those of each run, because they have to show a stall of a few turns.
double value_of_b(const ExecutedPair& pair, const std::string& metric, double a, double b) {
  return metric == "step_time_s" && pair.step_log_ratio ? a * std::exp(*pair.step_log_ratio) : b;
}

// A ratio needs both values. If an exact number is 0 on only one side, that is visible without a ratio.
bool can_be_held_together(double a, double b, const MetricRule& rule) {
  if (rule.noise != spec::MetricNoise::measured) return a >= 0 && b >= 0 && a + b > 0;
  return a > 0 && b > 0;
}

Values values_of(const std::vector<const ExecutedPair*>& pairs, const MetricRule& rule) {
  Values out;
  for (const auto* pair : pairs) {
    if (!counts_for(*pair, rule)) continue;
    const auto a = value_of(pair->a, rule.metric);
    const auto b = value_of(pair->b, rule.metric);
    if (!a || !b || !can_be_held_together(*a, *b, rule)) continue;
    out.pairs.push_back({*a, value_of_b(*pair, rule.metric, *a, *b)});
    out.a.push_back(*a);
    out.b.push_back(*b);
  }
  return out;
}

Decision conclusion(Verdict verdict, VerdictReason reason, std::string detail) {
  Decision out;
  conclude(out, verdict, reason, std::move(detail));
  return out;
}

PairedRule paired_rule(const MetricRule& metric, const AbRule& rule) {
  return {.direction = metric.direction,
          .margin_fraction = metric.margin_fraction,
          .alpha = rule.alpha,
          .looks = rule.looks,
          .futile_below = rule.futile_below};
}

// A metric that was measured, but never in a pair that counts, is undecided. So is one that the runs of such a pair
// lack. A metric that is 0 in every run is left out.
std::optional<MetricVerdict> without_pairs(const std::vector<const ExecutedPair*>& pairs, MetricVerdict out) {
  std::optional<double> most;
  bool counted = false;
  for (const auto* pair : pairs) {
    counted = counted || counts_for(*pair, out.rule);
    for (const auto side : {Side::a, Side::b}) {
      const auto& run = pair->of(side);
      if (!is_failed_run(run)) most = std::max(most, value_of(run, out.rule.metric));
    }
  }
  if (most ? *most <= 0 : !counted || out.rule.of_some_runs) return std::nullopt;
  out.decided.decision = conclusion(Verdict::inconclusive, VerdictReason::no_measurement,
                                    most ? std::string("no pair that counts has it on both sides")
                                         : fmt::format("no run has it: {}", spec::why_absent(out.rule.metric)));
  return out;
}

// Returns the decision of the first look that decides, or else that of all pairs.
PairedDecision decide_at_looks(std::vector<Pair>& pairs, const PairedRule& rule, std::size_t wanted) {
  for (const auto look : rule.looks) {
    if (look < wanted || look > pairs.size()) continue;
    const auto decided = decide_pairs({pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(look)}, rule);
    if (!decided.final) continue;
    pairs.resize(look);
    return decided;
  }
  return decide_pairs(pairs, rule);
}

std::optional<MetricVerdict> judge_metric(const std::vector<const ExecutedPair*>& pairs, const MetricRule& metric,
                                          const AbRule& rule, std::size_t wanted) {
  auto values = values_of(pairs, metric);
  MetricVerdict out{.rule = metric, .pairs = values.pairs.size()};
  if (metric.noise != spec::MetricNoise::measured) {
    const auto exact = decide_exact(values.b, values.a, decision_rule(metric), exactness_of(metric.noise));
    if (exact) {
      out.a_median = values.pairs.front().a;
      out.b_median = values.pairs.front().b;
      out.decided.decision = *exact;
      out.decided.final = true;
      return out;
    }
    auto measured = metric;  // it turned out to have noise
    measured.noise = spec::MetricNoise::measured;
    values = values_of(pairs, measured);
  }
  out.pairs = values.pairs.size();
  if (values.pairs.empty()) return without_pairs(pairs, out);
  out.decided = decide_at_looks(values.pairs, paired_rule(metric, rule), wanted);
  out.pairs = values.pairs.size();
  values.a.resize(out.pairs);
  values.b.resize(out.pairs);
  out.a_median = median(values.a);
  out.b_median = median(values.b);
  return out;
}

PairSeen seen(const ExecutedPair& pair) {
  PairSeen out{.number = pair.number, .discarded = pair.discarded};
  const auto a = value_of(pair.a, "step_time_s");
  const auto b = value_of(pair.b, "step_time_s");
  if (a && b && *a > 0 && *b > 0) out.step_ratio = value_of_b(pair, "step_time_s", *a, *b) / *a;
  return out;
}

void count_failures(const ExecutedPair& pair, CellVerdict& out) {
  for (const auto side : {Side::a, Side::b}) {
    const auto& run = pair.of(side);
    auto& failures = side == Side::a ? out.a_failures : out.b_failures;
    if (run.state == AttemptState::ok) ++failures.runs;
    if (!is_failed_run(run)) continue;
    ++failures.runs;
    if (failures.count++ == 0) {
      failures.first = fmt::format("{}{}{}", spec::enum_name(run.state), run.reason.empty() ? "" : ": ", run.reason);
    }
  }
}

// Runs also fail by chance: B's failures count if Fisher's test distinguishes them from A's. The test is repeated after
// every pair, at half the level. For sides that fail equally often, at any rate, it then finds a difference in at most
// 0.7 % of comparisons with up to 32 pairs, 1.1 % with up to 64 and 1.5 % with up to 128 (SciPy, 4000 comparisons at
// each of 7 rates); for a B that always fails and an A that never does, in 6 pairs. If A
// fails as well there is nothing with which to compare B.
std::optional<Decision> failed_side(const CellVerdict& cell, const AbRule& rule) {
  const auto& a = cell.a_failures;
  const auto& b = cell.b_failures;
  const auto words = [](const char* side, const SideFailures& f) {
    return fmt::format("{} failed {} of {} times{}", side, f.count, f.runs, f.count > 0 ? " (" + f.first + ")" : "");
  };
  if (b.count > a.count) {
    const double p = fisher_exact_p(a.count, a.runs, b.count, b.runs);
    if (p < rule.alpha / 2) {
      return conclusion(Verdict::regressed, VerdictReason::side_failed,
                        fmt::format("{}, {}: p = {:.2g}", words("B", b), words("A", a), p));
    }
  }
  if (a.count < rule.most_failures || cell.pairs_used > 0) return std::nullopt;
  return conclusion(Verdict::not_comparable, VerdictReason::side_failed,
                    fmt::format("{}, {}", words("A", a), words("B", b)));
}

// Applies to all metrics that these circumstances affect, whatever their pairs say.
void leave_undecided(CellVerdict& cell, VerdictReason reason, const std::string& why) {
  for (auto& metric : cell.metrics) {
    auto& decision = metric.decided.decision;
    if (metric.pairs == 0 || decision.reason == VerdictReason::exact) continue;
    decision.p.reset();
    decision.detectable_fraction.reset();
    conclude(decision, Verdict::inconclusive, reason, why);
    metric.decided.final = true;
  }
}

// External circumstances spoil A's runs as often as B's. A side may also cause them itself (more threads than cores, a
// processor that it heats). The remaining pairs are then those in which it did not, and they do not show its usual
// behaviour.
void doubt_one_sided_choice(CellVerdict& cell) {
  const auto& a = cell.spoiled_alone[Side::a];
  const auto& b = cell.spoiled_alone[Side::b];
  const double p = sign_test_p(a.count, b.count);
  constexpr double kDoubtBelow = 0.05;  // a false doubt costs pairs, but a missed one a wrong verdict
  if (p >= kDoubtBelow) return;
  const bool is_a = a.count > b.count;
  const auto& more = is_a ? a : b;
  leave_undecided(
      cell, VerdictReason::one_sided_discards,
      fmt::format("one run alone was spoiled in {} pairs, and it was {}'s in {} (p = {:.2g}; {}): the remaining pairs "
                  "are selected by what this side does; pairs in turns are not discarded for that reason",
                  a.count + b.count, is_a ? "A" : "B", more.count, p, more.first));
}

// Work that a side's threads do during the other side's step appears in none of its own steps, and slows the other
// side. A side can hide a slowdown of its own that way, and more pairs do not help.
void doubt_busy_sides(CellVerdict& cell, const AbRule& rule) {
  for (const auto& [side, wait] : cell.waits) {
    const auto cores = cores_while_waiting(wait);
    if (!cores || *cores <= rule.most_cores_while_waiting) continue;
    const bool is_a = side == Side::a;
    leave_undecided(cell, VerdictReason::busy_while_waiting,
                    fmt::format("{} computed during {}'s steps: its threads used {} of a core while {} stepped ({:.2g} "
                                "of {:.2g} s watched; a verdict allows at most {}). Make its threads end or sleep "
                                "before a step ends (OMP_WAIT_POLICY=passive), or compare with --pairing apart",
                                is_a ? "A" : "B", is_a ? "B" : "A", percent(*cores), is_a ? "B" : "A", wait.cpu_s,
                                wait.wall_s, percent(rule.most_cores_while_waiting)));
    return;
  }
}

std::size_t most_wanted(const WantedPairs& wanted) {
  std::size_t most = 0;
  for (const auto& [metric, pairs] : wanted) most = std::max(most, pairs);
  return most;
}

void set_progress(CellVerdict& cell, const AbRule& rule, std::size_t wanted) {
  const auto next =
      std::find_if(rule.looks.begin(), rule.looks.end(), [&cell](std::size_t look) { return look > cell.pairs_used; });
  const bool looks_left = next != rule.looks.end();
  const bool at_look = std::find(rule.looks.begin(), rule.looks.end(), cell.pairs_used) != rule.looks.end();
  const bool decided =
      at_look && cell.pairs_used >= wanted &&
      std::all_of(cell.metrics.begin(), cell.metrics.end(), [](const auto& metric) { return metric.decided.final; });
  cell.final = cell.whole || !looks_left || decided || cell.pairs_discarded > rule.most_discarded;
  cell.next_look = cell.final ? 0 : *next;
}

void note_trends(CellVerdict& cell, const std::vector<const ExecutedPair*>& pairs) {
  for (const auto side : {Side::a, Side::b}) {
    std::vector<double> trends;
    for (const auto* pair : pairs) {
      if (const auto trend = value_of(pair->of(side), "step_time_trend_fraction")) trends.push_back(*trend);
    }
    auto note = trend_note(spec::enum_name(side), trends);
    if (!note.empty()) cell.notes.push_back(std::move(note));
  }
}

bool is_undecided(Verdict verdict) {
  return verdict == Verdict::inconclusive || verdict == Verdict::not_comparable;
}

std::vector<const Decision*> decisions_of(const CellVerdict& cell) {
  std::vector<const Decision*> out;
  if (cell.whole) out.push_back(&*cell.whole);
  for (const auto& metric : cell.metrics) out.push_back(&metric.decided.decision);
  return out;
}

// Each side starts with caches as the other side left them. If one side leaves more behind than that, the other's steps
// show it.
void note_order_effect(CellVerdict& cell, const std::vector<const ExecutedPair*>& pairs) {
  constexpr std::size_t kFewestPairs = 4;
  constexpr double kNotable = 0.01;
  constexpr double kLevel = 0.01;
  std::vector<double> effects;
  for (const auto* pair : pairs) {
    if (pair->kept() && pair->order_log_effect) effects.push_back(*pair->order_log_effect);
  }
  if (effects.size() < kFewestPairs) return;
  const auto difference = mean_difference(effects);
  const double fraction = std::expm1(std::abs(difference.mean));
  if (fraction <= kNotable || !difference.has_spread() || difference.t_p() >= kLevel) return;
  const bool of_a = difference.mean > 0;
  cell.notes.push_back(
      fmt::format("contaminated: a step after the other side's takes longer than one after its own, for {} by {} more "
                  "than for {} (p = {:.2g}): {} leaves work or cold caches behind; --pairing apart avoids this",
                  of_a ? "B" : "A", percent(fraction), of_a ? "A" : "B", difference.t_p(), of_a ? "A" : "B"));
}

}  // namespace

std::optional<std::size_t> pairs_lacking(const AbRule& rule) {
  const bool noise = std::any_of(rule.metrics.begin(), rule.metrics.end(),
                                 [](const MetricRule& m) { return m.noise == spec::MetricNoise::measured; });
  const std::size_t fewest = fewest_pairs(rule.alpha);
  if (!noise || rule.looks.back() >= fewest) return std::nullopt;
  return fewest;
}

std::vector<std::size_t> looks_up_to(std::size_t pairs) {
  std::vector<std::size_t> looks;
  for (const std::size_t look : {4U, 8U, 16U, 32U}) {
    if (look < pairs) looks.push_back(look);
  }
  looks.push_back(pairs);
  return looks;
}

CellVerdict count_pairs(const std::string& label, const std::vector<const ExecutedPair*>& pairs,
                        const SpoilRule& spoil) {
  CellVerdict out{.label = label};
  std::vector<double> instructions;
  for (const auto* pair : pairs) {
    count_failures(*pair, out);
    out.pairs_seen.push_back(seen(*pair));
    if (!pair->kept()) {
      ++out.pairs_discarded;
      auto& kind = out.discarded[pair->discard];
      if (kind.count++ == 0) kind.first = pair->discarded;
      if (const auto side = spoiled_alone(*pair, spoil)) {
        auto& alone = out.spoiled_alone[*side];
        if (alone.count++ == 0) alone.first = pair->discarded;
      }
      continue;
    }
    ++out.pairs_used;
    if (pair->in_turns) {
      for (const auto side : {Side::a, Side::b}) out.waits[side] += pair->of(side).waits;
    }
    if (pair->a.instructions && pair->b.instructions && *pair->a.instructions > 0) {
      instructions.push_back(static_cast<double>(*pair->b.instructions) / static_cast<double>(*pair->a.instructions));
    }
  }
  if (!instructions.empty()) out.instructions_ratio = median(instructions);
  return out;
}

CellVerdict judge_cell(const std::string& label, const std::vector<const ExecutedPair*>& pairs, const AbRule& rule,
                       const WantedPairs& wanted) {
  auto out = count_pairs(label, pairs, rule.spoil);
  out.whole = failed_side(out, rule);
  for (const auto& metric : rule.metrics) {
    const auto found = wanted.find(metric.metric);
    auto verdict = judge_metric(pairs, metric, rule, found == wanted.end() ? 0 : found->second);
    if (verdict) out.metrics.push_back(std::move(*verdict));
  }
  doubt_busy_sides(out, rule);
  set_progress(out, rule, most_wanted(wanted));
  doubt_one_sided_choice(out);
  if (out.final && out.pairs_used < rule.looks.front() && !out.whole) {
    out.notes.push_back(fmt::format("{} of {} pairs were discarded; the first look needs {} good ones",
                                    out.pairs_discarded, pairs.size(), rule.looks.front()));
  }
  note_failures(out);
  note_trends(out, pairs);
  note_order_effect(out, pairs);
  return out;
}

void note_failures(CellVerdict& cell) {
  if (cell.whole) return;
  for (const auto& [side, failures] : {std::pair{"A", &cell.a_failures}, std::pair{"B", &cell.b_failures}}) {
    if (failures->count == 0) continue;
    cell.notes.push_back(fmt::format("{} failed {} times: {}", side, failures->count, failures->first));
  }
}

void control_cells(std::vector<CellVerdict>& cells, double alpha) {
  std::map<Decision*, PairedDecision*> paired;
  std::vector<Decision*> tested;
  for (auto& cell : cells) {
    for (auto& metric : cell.metrics) {
      auto& decision = metric.decided.decision;
      if (decision.reason == VerdictReason::exact || decision.reason == VerdictReason::side_failed) continue;
      tested.push_back(&decision);
      paired[&decision] = &metric.decided;
    }
  }
  for (auto* changed : control_false_discoveries(tested, alpha)) ask_for_later_look(*paired.at(changed));
}

WantedPairs pairs_wanted(const CellVerdict& cell) {
  WantedPairs wanted;
  for (const auto& metric : cell.metrics) {
    const bool more = metric.decided.decision.reason == VerdictReason::false_discovery && metric.decided.next_look > 0;
    if (more) wanted[metric.rule.metric] = metric.decided.next_look;
  }
  return wanted;
}

std::vector<Verdict> verdicts_of(const std::vector<CellVerdict>& cells) {
  std::vector<Verdict> out;
  for (const auto& cell : cells) {
    const auto decisions = decisions_of(cell);
    if (decisions.empty()) out.push_back(Verdict::inconclusive);
    for (const auto* decision : decisions) {
      out.push_back(is_undecided(decision->verdict) ? Verdict::inconclusive : decision->verdict);
    }
  }
  return out;
}

std::vector<std::string> gate_refusals(const std::vector<CellVerdict>& cells, const AbRule& rule) {
  std::vector<std::string> out;
  for (const auto& cell : cells) {
    if (cell.whole && is_undecided(cell.whole->verdict)) out.push_back(cell.label + ": " + cell.whole->detail);
    if (!cell.whole && cell.metrics.empty()) out.push_back(cell.label + ": none of its pairs could be compared");
    for (const auto& metric : cell.metrics) {
      const auto why = gate_refusal(metric.decided, paired_rule(metric.rule, rule));
      if (why) out.push_back(fmt::format("{} {}: {}", cell.label, metric.rule.metric, *why));
    }
  }
  return out;
}

}  // namespace perfbench::harness
