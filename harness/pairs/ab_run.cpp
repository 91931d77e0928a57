#include "harness/pairs/ab_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "harness/stats/pairs.h"
#include "reports/render/format/number.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

using reports::Plain;

constexpr std::size_t kColumns = 100;

std::string order_text(Side first) {
  return first == Side::a ? "AB" : "BA";
}

}  // namespace

PairsLeft pairs_left(const std::vector<CellVerdict>& cells, const std::vector<std::size_t>& looks) {
  PairsLeft left;
  for (const auto& cell : cells) {
    if (cell.final) continue;
    left.to_next_look += cell.next_look - cell.pairs_used;
    left.at_most += std::max(looks.back(), cell.next_look) - cell.pairs_used;
  }
  return left;
}

double executions_a_pair(std::size_t executed, std::size_t kept) {
  return static_cast<double>(executed + 1) / static_cast<double>(kept + 1);  // the next one is assumed to count
}

AbProgress::AbProgress(std::FILE* out, SweepProgress::Style style, std::vector<std::size_t> looks)
    : out_(out), style_(style), looks_(std::move(looks)) {}

void AbProgress::begin(const ExecutedPair& pair, const std::string& label, std::size_t cells) {
  label_ = label;
  if (style_ != SweepProgress::Style::live) return;
  rewrite(Plain::format("cell {}/{} pair {} {}  {}", pair.cell + 1, cells, pair.number, order_text(pair.first), label));
}

void AbProgress::end(const ExecutedPair& pair, const std::vector<CellVerdict>& cells) {
  const double took_s = static_cast<double>(pair.wall_ns()) * 1e-9;
  executed_s_ += took_s;
  ++executed_;
  if (pair.kept()) ++kept_;
  const auto left = pairs_left(cells, looks_);
  const double each_s = executed_s_ / static_cast<double>(executed_) * executions_a_pair(executed_, kept_);
  std::string rest;
  if (left.at_most > 0) {
    rest = fmt::format(", about {} to the next looks, {} at most",
                       reports::format_duration(each_s * static_cast<double>(left.to_next_look)),
                       reports::format_duration(each_s * static_cast<double>(left.at_most)));
  }
  const auto line = Plain::format("cell {}/{} pair {} {} in {:.1f} s{}  {}{}", pair.cell + 1, cells.size(), pair.number,
                                  order_text(pair.first), took_s, rest, label_,
                                  pair.kept() ? Plain() : Plain::format("\n    discarded: {}", pair.discarded));
  if (style_ == SweepProgress::Style::live && pair.kept()) return rewrite(line);
  say(line);
}

void AbProgress::say(const Plain& text) {
  if (line_is_shown_) reports::erase_line(out_);
  line_is_shown_ = false;
  reports::print(out_, "{}\n", text);
}

void AbProgress::rewrite(const Plain& line) {
  reports::erase_line(out_);
  reports::print_text(out_, reports::cut_to(line.text(), kColumns));
  line_is_shown_ = true;
}

namespace {

class Comparison {
 public:
  Comparison(const std::vector<AbCell>& cells, const AbRule& rule, std::uint64_t seed, const AbHooks& hooks)
      : cells_(cells), rule_(rule), seed_(seed), hooks_(hooks), of_cell_(cells.size()), wanted_(cells.size()) {}

  AbResult run(std::vector<ExecutedPair> done) {
    result_.cells.resize(cells_.size());
    for (auto& pair : done) of_cell_[pair.cell].push_back(std::move(pair));
    for (auto& pairs : of_cell_) order_by_number(pairs);
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) judge(cell);
    plan_after_first_round();
    do {
      while (!result_.cancelled && any_open()) {
        round();
        plan_after_first_round();
      }
    } while (!result_.cancelled && reopen());
    for (auto& pairs : of_cell_) {
      for (auto& pair : pairs) result_.pairs.push_back(std::move(pair));
    }
    control_cells(result_.cells, rule_.alpha);
    result_.rule = std::move(rule_);
    return std::move(result_);
  }

 private:
  static void order_by_number(std::vector<ExecutedPair>& pairs) {
    std::stable_sort(pairs.begin(), pairs.end(), [](const auto& x, const auto& y) { return x.number < y.number; });
  }

  bool any_open() const {
    return std::any_of(result_.cells.begin(), result_.cells.end(), [](const auto& cell) { return !cell.final; });
  }

  // A resumed comparison comes to the same rule, because only the first pair of each cell counts, whatever the others
  // have decided since. A first pair that was discarded may have been short because it failed: then nothing is planned.
  void plan_after_first_round() {
    if (planned_ || result_.cancelled || !hooks_.rule_after_first_round) return;
    double round_s = 0;
    bool any = false;
    bool all_kept = true;
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
      if (cells_[cell].not_comparable || cells_[cell].not_planned) continue;
      if (of_cell_[cell].empty()) return;
      const auto& first = of_cell_[cell].front();
      any = true;
      all_kept = all_kept && first.kept();
      round_s += static_cast<double>(first.wall_ns()) * 1e-9;
    }
    planned_ = true;
    if (!any || !all_kept) return;
    rule_ = hooks_.rule_after_first_round(round_s);
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) judge(cell);
  }

  // Another look is used, if one is planned, for a significant result that does not survive among all cells.
  bool reopen() {
    auto controlled = result_.cells;
    control_cells(controlled, rule_.alpha);
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
      bool more = false;
      for (const auto& [metric, pairs] : pairs_wanted(controlled[cell])) {
        auto& wanted = wanted_[cell][metric];
        more = more || pairs > wanted;
        wanted = std::max(wanted, pairs);
      }
      if (more) judge(cell);
    }
    return any_open();
  }

  // One pair of each open cell. A cell that is ahead of the others (after a comparison that was interrupted within a
  // round) waits for them.
  void round() {
    std::size_t fewest = SIZE_MAX;
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
      if (!result_.cells[cell].final) fewest = std::min(fewest, of_cell_[cell].size());
    }
    for (std::size_t cell = 0; cell < cells_.size() && !result_.cancelled; ++cell) {
      if (!result_.cells[cell].final && of_cell_[cell].size() == fewest) pair(cell);
    }
  }

  void pair(std::size_t cell) {
    ExecutedPair pair{.cell = cell, .number = of_cell_[cell].size() + 1};
    pair.first = first_side(seed_, cell, result_.cells[cell].pairs_used + 1);
    if (hooks_.on_begin) hooks_.on_begin(pair);
    if (!execute(cells_[cell], pair)) {
      result_.cancelled = true;
      return;  // half a pair does not count
    }
    const auto spoiled = why_discarded(pair, rule_.spoil);
    pair.discard = spoiled.discard;
    pair.discarded = spoiled.why;
    hooks_.record(pair);
    of_cell_[cell].push_back(pair);
    judge(cell);
    if (hooks_.on_end) hooks_.on_end(pair, result_.cells);
  }

  // Returns false if it was cancelled.
  bool execute(const AbCell& cell, ExecutedPair& pair) {
    if (hooks_.cancelled()) return false;
    const auto is_cancelled = [&pair](Side side) { return pair.of(side).state == AttemptState::cancelled; };
    if (cell.in_turns) {
      hooks_.run_in_turns(cell, pair);
      return !is_cancelled(Side::a) && !is_cancelled(Side::b);
    }
    const auto second = pair.first == Side::a ? Side::b : Side::a;
    for (const auto side : {pair.first, second}) {
      if (side == second && hooks_.cancelled()) return false;
      pair.of(side) = hooks_.run(cell, side);
      if (is_cancelled(side)) return false;
    }
    return true;
  }

  void judge(std::size_t cell) {
    auto& verdict = result_.cells[cell];
    if (cells_[cell].not_comparable) {
      verdict = {.label = cells_[cell].label, .final = true};
      verdict.whole = Decision{};
      conclude(*verdict.whole, Verdict::not_comparable, VerdictReason::other_work, *cells_[cell].not_comparable);
      return;
    }
    if (cells_[cell].not_planned) {
      verdict = {.label = cells_[cell].label, .final = true};
      verdict.whole = Decision{};
      conclude(*verdict.whole, Verdict::inconclusive, VerdictReason::not_planned, *cells_[cell].not_planned);
      return;
    }
    std::vector<const ExecutedPair*> pairs;
    for (const auto& pair : of_cell_[cell]) pairs.push_back(&pair);
    verdict = judge_cell(cells_[cell].label, pairs, rule_, wanted_[cell]);
    verdict.in_turns = cells_[cell].in_turns;
    verdict.apart_because = cells_[cell].apart_because;
    if (!cells_[cell].plan.empty()) verdict.notes.push_back(cells_[cell].plan);
  }

  const std::vector<AbCell>& cells_;
  AbRule rule_;
  const std::uint64_t seed_;
  const AbHooks& hooks_;
  std::vector<std::vector<ExecutedPair>> of_cell_;
  std::vector<WantedPairs> wanted_;  // by cell
  bool planned_ = false;
  AbResult result_;
};

}  // namespace

AbResult run_pairs(const std::vector<AbCell>& cells, const AbRule& rule, std::uint64_t seed, const AbHooks& hooks,
                   std::vector<ExecutedPair> done) {
  return Comparison(cells, rule, seed, hooks).run(std::move(done));
}

}  // namespace perfbench::harness
