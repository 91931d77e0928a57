#include "harness/ab/ab_progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "reports/format/print.h"

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
  return static_cast<double>(executed + 1) / static_cast<double>(kept + 1);  // the next one is taken to count
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
                       duration_text(each_s * static_cast<double>(left.to_next_look)),
                       duration_text(each_s * static_cast<double>(left.at_most)));
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

}  // namespace perfbench::harness
