#include <string>

#include "reports/document/footnotes.h"
#include "reports/document/render.h"
#include "reports/format/markdown_table.h"
#include "reports/format/sparkline.h"

namespace perfbench::reports {
namespace {

struct MarkdownBlock {
  Markdown operator()(const Heading& heading) const {
    return Markdown::format("{} {}\n", std::string(static_cast<std::size_t>(heading.level), '#'), heading.text);
  }
  Markdown operator()(const Paragraph& paragraph) const { return Markdown::format("{}\n", paragraph.text); }
  Markdown operator()(const Note& note) const { return Markdown::format("{}\n", note.text); }
  Markdown operator()(const List& list) const {
    Markdown out;
    for (const auto& item : list.items) out += Markdown::format("- {}\n", item);
    return out;
  }
  Markdown operator()(const Series& series) const {
    return Markdown::format("{} {}\n", series.title, sparkline(series.values));
  }
  Markdown operator()(const Table& table) const {
    std::vector<MarkdownRow> lines(1);
    for (const auto& column : table.columns) {
      if (column.audience == Audience::everyone) lines.front().emplace_back(column.title);
    }
    Footnotes footnotes;
    for (const auto& row : table.rows) {
      MarkdownRow cells;
      for (std::size_t i = 0; i < table.columns.size(); ++i) {
        if (table.columns[i].audience == Audience::everyone) cells.emplace_back(row.cells[i].text);
      }
      for (const auto& note : row.notes) cells.back() += Markdown::format(" [{}]", footnotes.number(note));
      lines.push_back(std::move(cells));
    }
    auto out = markdown_table(lines);
    for (std::size_t i = 0; i < footnotes.notes().size(); ++i) {
      out += Markdown::format("\n[{}] {}\n", i + 1, footnotes.notes()[i]);
    }
    return out;
  }
};

}  // namespace

std::string render_markdown(const Document& document) {
  Markdown out;
  for (const auto& block : document.blocks) {
    if (!out.empty()) out += Markdown::format("\n");
    out += std::visit(MarkdownBlock{}, block);
  }
  return out.text();
}

}  // namespace perfbench::reports
