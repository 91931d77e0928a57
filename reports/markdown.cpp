#include "reports/markdown.h"

#include <algorithm>
#include <vector>

#include "workloads/spec/fields.h"

namespace perfbench::reports {
namespace {

using Cells = std::vector<std::string>;

// Text inside a table cell: '|' would end it, a line break the table.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out;
}

// Width on a terminal: code points, which counts UTF-8 continuation bytes as nothing.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void append_line(std::string& out, const Cells& cells, const std::vector<std::size_t>& widths) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    out += (i == 0 ? "| " : " | ") + cells[i] + std::string(widths[i] - width(cells[i]), ' ');
  }
  out += " |\n";
}

std::string table(const std::vector<Cells>& lines) {
  std::vector<std::size_t> widths(lines.front().size(), 3);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width(line[i]));
  }
  std::string out;
  append_line(out, lines.front(), widths);
  Cells rule;
  for (const auto w : widths) rule.emplace_back(w, '-');
  append_line(out, rule, widths);
  for (std::size_t i = 1; i < lines.size(); ++i) append_line(out, lines[i], widths);
  return out;
}

// Numbers notes in the order of their first use.
class Footnotes {
 public:
  std::string marks(const std::vector<std::string>& notes) {
    std::string out;
    for (const auto& note : notes) {
      const auto found = std::find(notes_.begin(), notes_.end(), note);
      const auto number = found - notes_.begin() + 1;
      if (found == notes_.end()) notes_.push_back(note);
      out += " [" + std::to_string(number) + "]";
    }
    return out;
  }
  std::string text() const {
    std::string out;
    for (std::size_t i = 0; i < notes_.size(); ++i) {
      out += (i == 0 ? "\n[" : "[") + std::to_string(i + 1) + "] " + notes_[i] + "\n\n";
    }
    return out;
  }

 private:
  std::vector<std::string> notes_;
};

}  // namespace

std::string to_markdown(const Report& report, TableStyle style) {
  Cells titles;
  for (const auto& column : columns(style)) titles.emplace_back(column.title);
  std::vector<Cells> lines{titles};
  Footnotes footnotes;
  for (const auto& row : report.rows) {
    Cells cells;
    for (const auto& column : columns(style)) cells.push_back(escaped(column.text(row)));
    cells.back() += footnotes.marks(row.notes);
    lines.push_back(std::move(cells));
  }
  std::string out = "## " + report.title + "\n\n" + table(lines) + "\n";
  out += "MFU by the definition `" + std::string(spec::enum_name(report.definition)) + "`.";
  if (!report.baseline.empty()) out += " Baseline: " + report.baseline + ".";
  return out + "\n" + footnotes.text();
}

}  // namespace perfbench::reports
