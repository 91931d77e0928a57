#include <string>

#include "reports/render/document/render.h"
#include "reports/render/document/text_lines.h"
#include "reports/render/document/text_table.h"
#include "reports/render/format/sparkline.h"

namespace perfbench::reports {
namespace {

struct TextBlock {
  const TextLayout& layout;

  std::string operator()(const Heading& heading) const {
    if (heading.audience == Audience::pages) return {};
    return paragraph(line_text(heading.text), layout.width);
  }
  std::string operator()(const Note& note) const { return paragraph(line_text(note.text), layout.width); }
  std::string operator()(const Headline& block) const { return toned_paragraph(block.text, block.tone); }
  std::string operator()(const Paragraph& block) const { return toned_paragraph(block.text, block.tone); }
  std::string operator()(const List& list) const {
    constexpr std::size_t kIndent = 2;
    std::string out;
    for (const auto& item : list.items) out += paragraph("- " + line_text(item), layout.width, kIndent);
    return out;
  }
  std::string operator()(const Series& series) const {
    return paragraph(line_text(series.title) + " " + sparkline(series.values), layout.width);
  }
  std::string operator()(const Origin&) const { return {}; }
  std::string operator()(const Cards&) const { return {}; }
  std::string operator()(const Chart&) const { return {}; }
  std::string operator()(const SmallCharts&) const { return {}; }
  std::string operator()(const Timeline&) const { return {}; }
  std::string operator()(const Table& table) const { return text_table(table, layout); }

  std::string toned_paragraph(const std::string& text, Tone tone) const {
    auto lines = paragraph(line_text(text), layout.width);
    lines.pop_back();
    return toned(lines, tone, layout) + "\n";
  }
};

}  // namespace

std::string render_text(const Document& document, const TextLayout& layout) {
  std::string out;
  for (const auto& block : document.blocks) {
    const auto text = std::visit(TextBlock{layout}, block);
    if (!text.empty()) out += (out.empty() ? "" : "\n") + text;
  }
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
    case DocumentFormat::html:
      return render_html(document);
    case DocumentFormat::svg:
      return render_svg(document);
    case DocumentFormat::text:
      break;
  }
  return render_text(document, layout);
}

}  // namespace perfbench::reports
