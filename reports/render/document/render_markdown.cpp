#include <string>

#include "reports/render/document/document.h"
#include "reports/render/document/render.h"
#include "reports/render/format/markdown.h"
#include "reports/render/format/sparkline.h"

namespace perfbench::reports {
namespace {

struct MarkdownBlock {
  // The text of a summary is Markdown, because empty lines surround it.
  Markdown operator()(const Heading& heading) const {
    if (heading.audience == Audience::pages) return {};
    if (heading.folded) return Markdown::format("<details>\n<summary>\n\n{}\n\n</summary>\n", heading.text);
    return Markdown::format("{:#>{}} {}\n", "", heading.level, heading.text);
  }
  Markdown operator()(const Headline& headline) const { return Markdown::format("**{}**\n", headline.text); }
  Markdown operator()(const Origin&) const { return {}; }
  Markdown operator()(const Cards&) const { return {}; }
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
  Markdown operator()(const Chart&) const { return {}; }
  Markdown operator()(const SmallCharts&) const { return {}; }
  Markdown operator()(const Timeline&) const { return {}; }
  Markdown operator()(const Table& table) const {
    const auto columns = columns_of_rows(table);
    if (columns.empty()) return {};
    const auto shared = shared_text(table);
    std::vector<MarkdownRow> lines(1);
    std::vector<Align> aligns;
    for (const auto i : columns) {
      lines.front().emplace_back(table.columns[i].title);
      aligns.push_back(table.columns[i].align);
    }
    Footnotes footnotes;
    for (const auto& row : table.rows) {
      MarkdownRow cells;
      for (const auto i : columns) cells.emplace_back(row.cells[i].text);
      for (const auto& note : row.notes) cells.back() += Markdown::format(" [{}]", footnotes.number(note));
      lines.push_back(std::move(cells));
    }
    Markdown out;
    if (!shared.empty()) out += Markdown::format("{}\n\n", shared);
    out += markdown_table(lines, aligns);
    for (std::size_t i = 0; i < footnotes.notes().size(); ++i) {
      out += Markdown::format("\n[{}] {}\n", i + 1, footnotes.notes()[i]);
    }
    return out;
  }
};

}  // namespace

std::string render_markdown(const Document& document) {
  std::string out;
  const auto add = [&out](const std::string& text) {
    if (!text.empty()) out += (out.empty() ? "" : "\n") + text;
  };
  bool is_folded = false;
  for (const auto& block : document.blocks) {
    if (const auto* heading = std::get_if<Heading>(&block)) {
      if (is_folded) add("</details>\n");
      is_folded = heading->folded && heading->audience != Audience::pages;
    }
    add(std::visit(MarkdownBlock{}, block).text());
  }
  if (is_folded) add("</details>\n");
  return out;
}

}  // namespace perfbench::reports
