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
  Markdown marks(const std::vector<std::string>& notes) {
    Markdown out;
    for (const auto& note : notes) {
      const auto found = std::find(notes_.begin(), notes_.end(), note);
      const auto number = found - notes_.begin() + 1;
      if (found == notes_.end()) notes_.push_back(note);
      out += Markdown::format(" [{}]", number);
    }
    return out;
  }
  Markdown text() const {
    Markdown out;
    for (std::size_t i = 0; i < notes_.size(); ++i) {
      out += (i == 0 ? Markdown::format("\n") : Markdown()) + Markdown::format("[{}] {}\n\n", i + 1, notes_[i]);
    }
    return out;
  }

 private:
  std::vector<std::string> notes_;
};

}  // namespace

Markdown to_markdown(const Report& report, TableStyle style) {
  MarkdownRow titles;
  for (const auto& column : columns(style)) titles.emplace_back(column.title);
  std::vector<MarkdownRow> lines{titles};
  Footnotes footnotes;
  for (const auto& row : report.rows) {
    MarkdownRow cells;
    for (const auto& column : columns(style)) cells.emplace_back(column.text(row));
    cells.back() += footnotes.marks(row.notes);
    lines.push_back(std::move(cells));
  }
  auto out = Markdown::format("## {}\n\n{}\nMFU by the definition `{}`.", report.title, markdown_table(lines),
                              spec::enum_name(report.definition));
  if (!report.baseline.empty()) out += Markdown::format(" Baseline: {}.", report.baseline);
  return out + Markdown::format("\n") + footnotes.text();
}

}  // namespace perfbench::reports
