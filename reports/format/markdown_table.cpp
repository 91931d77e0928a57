#include "reports/format/markdown_table.h"

#include <algorithm>

namespace perfbench::reports {
namespace {

// Width on a terminal: code points, which counts UTF-8 continuation bytes as nothing.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void append_line(Markdown& out, const MarkdownRow& cells, const std::vector<std::size_t>& widths,
                 const std::vector<Align>& aligns) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string room(widths[i] - width(cells[i]), ' ');
    out += aligns[i] == Align::right ? Markdown::format("| {}{} ", room, cells[i])
                                     : Markdown::format("| {}{} ", cells[i], room);
  }
  out += Markdown::format("|\n");
}

}  // namespace

Markdown markdown_table(const std::vector<MarkdownRow>& lines, const std::vector<Align>& aligns) {
  std::vector<std::size_t> widths(lines.front().size(), 3);
  const auto sides = aligns.empty() ? std::vector<Align>(widths.size(), Align::left) : aligns;
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width(line[i]));
  }
  Markdown out;
  append_line(out, lines.front(), widths, sides);
  MarkdownRow rule;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const auto dashes = sides[i] == Align::right ? widths[i] - 1 : widths[i];
    rule.push_back(Markdown::format("{:->{}}{}", "", dashes, sides[i] == Align::right ? ":" : ""));
  }
  append_line(out, rule, widths, sides);
  for (std::size_t i = 1; i < lines.size(); ++i) append_line(out, lines[i], widths, sides);
  return out;
}

}  // namespace perfbench::reports
