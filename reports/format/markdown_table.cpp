#include "reports/format/markdown_table.h"

#include <algorithm>

namespace perfbench::reports {
namespace {

// Width on a terminal: code points, which counts UTF-8 continuation bytes as nothing.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void append_line(Markdown& out, const MarkdownRow& cells, const std::vector<std::size_t>& widths) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    out += Markdown::format("| {}{} ", cells[i], std::string(widths[i] - width(cells[i]), ' '));
  }
  out += Markdown::format("|\n");
}

}  // namespace

// Only the rule says the side of a column: a program that reads the text finds every cell behind "| ".
Markdown markdown_table(const std::vector<MarkdownRow>& lines, const std::vector<Align>& aligns) {
  std::vector<std::size_t> widths(lines.front().size(), 3);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width(line[i]));
  }
  Markdown out;
  append_line(out, lines.front(), widths);
  MarkdownRow rule;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const bool right = i < aligns.size() && aligns[i] == Align::right;
    rule.push_back(Markdown::format("{:->{}}{}", "", widths[i] - (right ? 1 : 0), right ? ":" : ""));
  }
  append_line(out, rule, widths);
  for (std::size_t i = 1; i < lines.size(); ++i) append_line(out, lines[i], widths);
  return out;
}

}  // namespace perfbench::reports
