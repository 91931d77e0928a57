#include <algorithm>
#include <string>

#include "reports/document/footnotes.h"
#include "reports/document/render.h"
#include "reports/format/escaped_text.h"
#include "reports/format/sparkline.h"

namespace perfbench::reports {
namespace {

// Code points: what a line of most scripts takes.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::string space(width - width_of(text), ' ');
  return align == Align::right ? space + text : text + space;
}

struct TextBlock {
  const TextLayout& layout;

  std::string operator()(const Heading& heading) const { return shown(heading.text) + "\n"; }
  std::string operator()(const Paragraph& paragraph) const { return shown(paragraph.text) + "\n"; }
  std::string operator()(const Note& note) const { return shown(note.text) + "\n"; }
  std::string operator()(const List& list) const {
    std::string out;
    for (const auto& item : list.items) out += "- " + shown(item) + "\n";
    return out;
  }
  std::string operator()(const Series& series) const {
    return shown(series.title) + " " + sparkline(series.values) + "\n";
  }
  std::string operator()(const Table& table) const {
    std::vector<std::size_t> columns;
    std::vector<std::vector<std::string>> lines(1);
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].audience != Audience::everyone) continue;
      columns.push_back(i);
      lines.front().push_back(shown(table.columns[i].title));
    }
    Footnotes footnotes;
    for (const auto& row : table.rows) {
      auto& line = lines.emplace_back();
      for (const auto i : columns) line.push_back(shown(row.cells[i].text));
      for (const auto& note : row.notes) line.back() += " [" + std::to_string(footnotes.number(note)) + "]";
    }
    std::vector<std::size_t> widths(columns.size(), 0);
    for (const auto& line : lines) {
      for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
    }
    std::string out;
    for (const auto& line : lines) {
      std::string text;
      for (std::size_t i = 0; i < line.size(); ++i) {
        text += (i == 0 ? "" : "  ") + padded(line[i], widths[i], table.columns[columns[i]].align);
      }
      text.erase(text.find_last_not_of(' ') + 1);
      out += text + "\n";
    }
    for (std::size_t i = 0; i < footnotes.notes().size(); ++i) {
      out += "[" + std::to_string(i + 1) + "] " + shown(footnotes.notes()[i]) + "\n";
    }
    return out;
  }
};

}  // namespace

std::string render_text(const Document& document, const TextLayout& layout) {
  std::string out;
  for (const auto& block : document.blocks) out += (out.empty() ? "" : "\n") + std::visit(TextBlock{layout}, block);
  return out;
}

std::string render(const Document& document, DocumentFormat format, const TextLayout& layout) {
  switch (format) {
    case DocumentFormat::markdown:
      return render_markdown(document);
    case DocumentFormat::csv:
      return render_csv(document);
    case DocumentFormat::json:
      return render_json(document);
    case DocumentFormat::text:
      break;
  }
  return render_text(document, layout);
}

}  // namespace perfbench::reports
