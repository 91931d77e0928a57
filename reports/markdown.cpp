#include "reports/markdown.h"

#include <algorithm>
#include <vector>

#include "reports/format/markdown_table.h"
#include "workloads/spec/fields.h"

namespace perfbench::reports {
namespace {

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
  MarkdownRow titles;
  for (const auto& column : columns(style)) titles.emplace_back(column.title);
  std::vector<MarkdownRow> lines{titles};
  Footnotes footnotes;
  for (const auto& row : report.rows) {
    MarkdownRow cells;
    for (const auto& column : columns(style)) cells.push_back(markdown_cell(column.text(row)));
    cells.back() += footnotes.marks(row.notes);
    lines.push_back(std::move(cells));
  }
  std::string out = "## " + report.title + "\n\n" + markdown_table(lines) + "\n";
  out += "MFU by the definition `" + std::string(spec::enum_name(report.definition)) + "`.";
  if (!report.baseline.empty()) out += " Baseline: " + report.baseline + ".";
  return out + "\n" + footnotes.text();
}

}  // namespace perfbench::reports
