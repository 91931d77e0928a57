#include "harness/judge/comparison_judgement.h"

#include <fmt/format.h>

#include "harness/stats/log_difference.h"

namespace perfbench::harness {
namespace {

const std::string kApart = "pairs one after the other: ";

class PairsLedger {
 public:
  explicit PairsLedger(Judgement judgement) : judgement_(std::move(judgement)) {}

  void add_sides(const StoredComparison& comparison) {
    for (const auto& side : comparison.sides) {
      add("", "", LedgerPart::reference,
          fmt::format("{}: {} ({}{}{}), engine SHA-256 {}", spec::enum_name(side.side), side.asked,
                      spec::enum_name(side.kind), side.git_commit.empty() ? "" : " ", side.git_commit,
                      side.engine_sha256.empty() ? "unknown" : side.engine_sha256));
    }
    add("", "", LedgerPart::rule,
        fmt::format("the order within pairs is drawn from seed {}", static_cast<std::uint64_t>(comparison.seed)));
  }

  void add_rule(const AbRule& rule, std::size_t cells, std::size_t tested) {
    add("", "", LedgerPart::rule,
        fmt::format("two-sided level {:g} over all looks of a metric, and over {} tested metrics of {} cells by false "
                    "discovery rate",
                    rule.alpha, tested, cells));
    add("", "", LedgerPart::rule, fmt::format("looks at {} pairs", fmt::join(rule.looks, ", ")));
    if (rule.futile_below > 0) {
      add("", "", LedgerPart::rule,
          fmt::format("stopped at a look if the remaining pairs would decide with a probability below {}",
                      percent(rule.futile_below)));
    }
    const auto& spoil = rule.spoil;
    add("", "", LedgerPart::rule,
        fmt::format(
            "for runs that follow each other, a pair is discarded above {} of the cores taken by the hypervisor, {} by "
            "other processes, {} of movement of the noise probe or {} between the two probes; at most {} of a cell",
            percent(spoil.most_steal), percent(spoil.most_foreign), percent(spoil.most_probe_spread),
            percent(spoil.most_probe_shift), rule.most_discarded));
    add("", "", LedgerPart::rule,
        fmt::format("for runs in turns, nothing is decided if a side uses more than {} of a core while the other steps",
                    percent(rule.most_cores_while_waiting)));
  }

  void add_cell(const CellVerdict& cell) {
    add(cell.label, "", LedgerPart::rule, cell.in_turns ? "pairs in turns" : kApart + cell.apart_because);
    add(cell.label, "", LedgerPart::look,
        fmt::format("{} pairs count, {} were discarded", cell.pairs_used, cell.pairs_discarded));
    for (const auto& [side, wait] : cell.waits) {
      const auto cores = cores_while_waiting(wait);
      if (!cores) continue;
      add(cell.label, "", LedgerPart::look,
          fmt::format("{} used {} of a core while the other side stepped", spec::enum_name(side), percent(*cores)));
    }
    for (const auto& note : cell.notes) add(cell.label, "", LedgerPart::note, note);
    if (cell.whole) add_answer(cell.label, "", *cell.whole);
    for (const auto& metric : cell.metrics) add_metric(cell.label, metric);
  }

  Judgement take() { return std::move(judgement_); }

 private:
  void add(std::string cell, std::string metric, LedgerPart part, std::string text) {
    judgement_.lines.push_back(
        {.cell = std::move(cell), .metric = std::move(metric), .part = part, .text = std::move(text)});
  }

  void add_answer(const std::string& cell, const std::string& metric, const Decision& decision) {
    add(cell, metric, LedgerPart::answer,
        fmt::format("{} ({}): {}", spec::enum_name(decision.verdict), spec::enum_name(decision.reason),
                    decision.detail));
  }

  void add_metric(const std::string& cell, const MetricVerdict& metric) {
    const auto& name = metric.rule.metric;
    add(cell, name, LedgerPart::rule,
        fmt::format("margin {}, {}", percent(metric.rule.margin_fraction),
                    metric.rule.noise == spec::MetricNoise::measured ? "a test of the pairs"
                                                                     : "no test if each side repeats its number"));
    const auto& needed = metric.decided.pairs_needed;
    add(cell, name, LedgerPart::look,
        fmt::format("decided on {} pairs{}", metric.pairs,
                    needed ? fmt::format("; {} would find the margin", *needed) : std::string()));
    add_answer(cell, name, metric.decided.decision);
  }

  Judgement judgement_;
};

}  // namespace

Judgement judgement_of(const StoredComparison& comparison, const std::vector<CellVerdict>& cells, const AbRule& rule,
                       const std::string& made_utc) {
  PairsLedger out({.judgement_id = comparison.comparison_id,
                   .kind = JudgementKind::pairs,
                   .matrix = comparison.matrix,
                   .made_utc = made_utc});
  std::size_t tested = 0;
  for (const auto& cell : cells) tested += cell.metrics.size();
  out.add_sides(comparison);
  out.add_rule(rule, cells.size(), tested);
  for (const auto& cell : cells) out.add_cell(cell);
  return out.take();
}

RecordedWords words_about_cell(const Judgement& judgement, const std::string& label) {
  RecordedWords out;
  for (const auto& line : judgement.lines) {
    if (line.cell != label || !line.metric.empty()) continue;
    if (line.part == LedgerPart::note) out.notes.push_back(line.text);
    if (line.part == LedgerPart::rule && line.text.starts_with(kApart)) {
      out.apart_because = line.text.substr(kApart.size());
    }
  }
  return out;
}

}  // namespace perfbench::harness
