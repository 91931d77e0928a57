#include "reports/render/document/text_table.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "reports/render/document/document.h"
#include "reports/render/document/text_lines.h"
#include "reports/render/format/number.h"
#include "reports/render/format/print.h"

namespace perfbench::reports {
namespace {

constexpr std::size_t kGap = 2;         // between two columns, if there is room
constexpr std::size_t kNarrowest = 12;  // of a column whose text is wrapped: a narrower one is unreadable

struct TextCell {
  std::string text;
  Tone tone = Tone::plain;
};

// A title may also be broken after a slash: "Sequences/Sec".
std::string with_breaks(const std::string& title) {
  std::string out;
  for (const char c : title) out += c == '/' ? std::string("/ ") : std::string(1, c);
  return out;
}

struct TextColumn {
  std::string title;
  Align align = Align::left;
  std::vector<TextCell> cells = {};  // one cell for each row

  std::size_t natural_width() const {
    auto width = width_of(title);
    for (const auto& cell : cells) width = std::max(width, width_of(cell.text));
    return width;
  }
  // Numbers, which are aligned to the right, are never broken.
  std::size_t least_width() const {
    auto width = longest_word(with_breaks(title));
    std::size_t body = 0;
    for (const auto& cell : cells) {
      width = std::max(width, align == Align::right ? width_of(cell.text) : longest_word(cell.text));
      body = std::max(body, width_of(cell.text));
    }
    return align == Align::right ? width : std::max(width, std::min(body, kNarrowest));
  }
  bool is_shared() const {
    return std::all_of(cells.begin(), cells.end(), [this](const TextCell& cell) {
      return cell.tone == Tone::plain && cell.text == cells.front().text;
    });
  }
};
using TextColumns = std::vector<TextColumn>;

TextColumns columns_of(const Table& table, Footnotes& footnotes) {
  TextColumns out;
  for (const auto i : columns_of_rows(table)) {
    TextColumn column{.title = line_text(table.columns[i].title), .align = table.columns[i].align};
    for (const auto& row : table.rows) column.cells.push_back({line_text(row.cells[i].text), row.cells[i].tone});
    out.push_back(std::move(column));
  }
  TextColumn marks{.title = ""};
  for (const auto& row : table.rows) {
    auto& cell = marks.cells.emplace_back();
    for (const auto& note : row.notes) {
      cell.text += (cell.text.empty() ? "[" : " [") + std::to_string(footnotes.number(note)) + "]";
    }
  }
  if (!out.empty() && !footnotes.notes().empty()) out.push_back(std::move(marks));
  return out;
}

struct Widths {
  std::vector<std::size_t> of;  // width of each column
  std::size_t gap = kGap;       // between two

  std::size_t total() const {
    std::size_t out = 0;
    for (const auto width : of) out += width;
    return out + gap * (of.empty() ? 0 : of.size() - 1);
  }
};

std::vector<std::size_t> natural_widths(const TextColumns& columns) {
  std::vector<std::size_t> out;
  for (const auto& column : columns) out.push_back(column.natural_width());
  return out;
}

// nullopt if no wrapping makes them fit. The available room goes to the narrowest columns that need more.
std::optional<Widths> widths_within(const TextColumns& columns, std::size_t width) {
  const Widths wanted{natural_widths(columns)};
  if (width == 0 || wanted.total() <= width) return wanted;
  Widths out;
  for (const auto& column : columns) out.of.push_back(column.least_width());
  if (out.total() > width) out.gap = 1;
  if (out.total() > width) return std::nullopt;
  for (auto room = width - out.total(); room > 0; --room) {
    std::optional<std::size_t> narrowest;
    for (std::size_t i = 0; i < out.of.size(); ++i) {
      if (out.of[i] < wanted.of[i] && (!narrowest || out.of[i] < out.of[*narrowest])) narrowest = i;
    }
    if (!narrowest) break;
    ++out.of[*narrowest];
  }
  return out;
}

// Removes the columns that are the same in all rows, and describes them; for the column without a title, says which
// notes all rows have.
std::string say_shared(TextColumns& columns) {
  constexpr std::size_t kFewestRows = 2;
  if (columns.empty() || columns.front().cells.size() < kFewestRows) return {};
  TextColumns different;
  std::string shared;
  for (const auto& column : columns) {
    if (!column.is_shared()) {
      different.push_back(column);
      continue;
    }
    const auto& value = column.cells.front().text;
    shared += (shared.empty() ? "" : "; ") + (column.title.empty() ? "see " : column.title + ": ") +
              (value.empty() ? kNothing : value);
  }
  if (shared.empty() || different.empty()) return {};
  columns = std::move(different);
  return shared;
}

// One row, which is as high as its highest cell.
std::string row_lines(const TextColumns& columns, const std::vector<TextCell>& cells, const Widths& widths,
                      const TextLayout& layout) {
  std::vector<std::vector<std::string>> parts;
  std::size_t height = 1;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    parts.push_back(wrapped(cells[i].text, widths.of[i]));
    height = std::max(height, parts.back().size());
  }
  std::string out;
  for (std::size_t n = 0; n < height; ++n) {
    std::string line;
    std::size_t spaces = 0;  // pending spaces, so that no line ends with spaces
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto text = n < parts[i].size() ? parts[i][n] : "";
      const auto room = widths.of[i] - std::min(widths.of[i], width_of(text));
      const bool right = columns[i].align == Align::right;
      spaces += (i == 0 ? 0 : widths.gap) + (right ? room : 0);
      if (!text.empty()) {
        line += std::string(spaces, ' ') + toned(text, cells[i].tone, layout);
        spaces = 0;
      }
      spaces += right ? 0 : room;
    }
    out += line + "\n";
  }
  return out;
}

std::vector<TextCell> row_of(const TextColumns& columns, std::size_t row) {
  std::vector<TextCell> out;
  for (const auto& column : columns) out.push_back(column.cells[row]);
  return out;
}

std::string aligned_lines(const TextColumns& columns, const Widths& widths, std::size_t rows,
                          const TextLayout& layout) {
  std::vector<TextCell> titles;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto& title = columns[i].title;
    titles.push_back({width_of(title) > widths.of[i] ? with_breaks(title) : title});
  }
  std::string out = row_lines(columns, titles, widths, layout);
  for (std::size_t row = 0; row < rows; ++row) out += row_lines(columns, row_of(columns, row), widths, layout);
  return out;
}

std::string block_lines(const TextColumns& columns, std::size_t rows, const TextLayout& layout) {
  constexpr std::size_t kIndent = 2;
  std::string out;
  for (std::size_t row = 0; row < rows; ++row) {
    if (row > 0) out += "\n";
    for (const auto& column : columns) {
      const auto& cell = column.cells[row];
      if (column.title.empty() && cell.text.empty()) continue;
      const auto text = (column.title.empty() ? "" : column.title + ": ") + (cell.text.empty() ? kNothing : cell.text);
      std::string lines = paragraph(text, layout.width, kIndent);
      lines.pop_back();
      out += toned(lines, cell.tone, layout) + "\n";
    }
  }
  return out;
}

std::string titles_alone(const TextColumns& columns, std::size_t width) {
  std::string out;
  for (const auto& column : columns) out += (out.empty() ? "" : ", ") + column.title;
  return paragraph(out, width);
}

}  // namespace

std::string toned(const std::string& text, Tone tone, const TextLayout& layout) {
  if (!layout.colour || tone == Tone::plain || text.empty()) return text;
  const auto colour = tone == Tone::good ? kGreen : tone == Tone::bad ? kRed : kYellow;
  return std::string(colour) + text + std::string(kNoColour);
}

std::string text_table(const Table& table, const TextLayout& layout) {
  Footnotes footnotes;
  auto columns = columns_of(table, footnotes);
  if (columns.empty()) return {};
  const auto rows = table.rows.size();
  std::string out;
  const bool fits = layout.width == 0 || Widths{natural_widths(columns)}.total() <= layout.width;
  auto shared = line_text(shared_text(table));
  if (!fits) {
    const auto others = say_shared(columns);
    shared += (shared.empty() || others.empty() ? "" : "; ") + others;
  }
  if (!shared.empty()) out += paragraph(shared, layout.width) + "\n";
  if (const auto widths = widths_within(columns, layout.width)) {
    out += aligned_lines(columns, *widths, rows, layout);
  } else {
    out += rows == 0 ? titles_alone(columns, layout.width) : block_lines(columns, rows, layout);
  }
  if (rows == 0) out += "(no rows)\n";
  constexpr std::size_t kNoteIndent = 4;
  for (std::size_t i = 0; i < footnotes.notes().size(); ++i) {
    out += paragraph("[" + std::to_string(i + 1) + "] " + line_text(footnotes.notes()[i]), layout.width, kNoteIndent);
  }
  return out;
}

}  // namespace perfbench::reports
