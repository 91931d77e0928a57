#include "reports/render/format/markdown.h"

#include <algorithm>
#include <cctype>

namespace perfbench::reports {
namespace {

bool is_letter(char c) {
  return static_cast<unsigned char>(c) >= 0x80 || std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// An underscore between letters does not emphasise.
bool is_inside_word(std::string_view text, std::size_t at) {
  return at > 0 && at + 1 < text.size() && is_letter(text[at - 1]) && is_letter(text[at + 1]);
}

// "a <= b" and "a < 3" cannot.
bool may_open_tag(std::string_view text, std::size_t at) {
  return at + 1 == text.size() || std::string_view("= 0123456789").find(text[at + 1]) == std::string_view::npos;
}

// "&lt;" and the like would be read as the character that they stand for.
bool is_entity(std::string_view text, std::size_t at) {
  const auto end = text.find_first_not_of("#abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", at + 1);
  return end != std::string_view::npos && end > at + 1 && text[end] == ';';
}

// "[x](y)" and "[x][y]" are links; a line "[x]: y" defines one, and the text after the brackets may begin with a colon.
bool ends_link_text(std::string_view text, std::size_t at) {
  const char next = at + 1 < text.size() ? text[at + 1] : ':';
  return next == '(' || next == '[' || (next == ':' && text[text.find_first_not_of(' ')] == '[');
}

// The position of a mark that would make the text a heading, a list item, a quotation or a rule; npos if there is none.
std::size_t block_mark(std::string_view text) {
  constexpr auto kNone = std::string_view::npos;
  const auto first = text.find_first_not_of(' ');
  if (first == kNone) return kNone;
  const auto ends_at = [&](std::size_t at) { return at >= text.size() || text[at] == ' '; };
  const char c = text[first];
  if (c == '>') return first;
  if (c == '#') return ends_at(text.find_first_not_of('#', first)) ? first : kNone;
  if (c == '-' || c == '+' || c == '=') {
    const bool is_rule = text.size() > first + 1 && text.find_first_not_of(std::string{c, ' '}, first) == kNone;
    return is_rule || (c != '=' && first + 1 < text.size() && text[first + 1] == ' ') ? first : kNone;
  }
  const auto digits = text.find_first_not_of("0123456789", first);
  const bool is_number = digits != first && digits != kNone && (text[digits] == '.' || text[digits] == ')');
  return is_number && ends_at(digits + 1) ? digits : kNone;
}

bool needs_backslash(std::string_view text, std::size_t at) {
  switch (text[at]) {
    case '\\':
    case '`':
    case '*':
    case '|':
    case '~':
      return true;
    case '_':
      return !is_inside_word(text, at);
    case ']':
      return ends_link_text(text, at);
    default:
      return false;
  }
}

}  // namespace

std::string escape_markdown(std::string_view data) {
  const auto text = shown(data);
  const auto mark = block_mark(text);
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '<' && may_open_tag(text, at)) {
      out += "&lt;";
    } else if (text[at] == '&' && is_entity(text, at)) {
      out += "&amp;";
    } else {
      if (at == mark || needs_backslash(text, at)) out += '\\';
      out += text[at];
    }
  }
  return out;
}

namespace {

// Width on a terminal: the number of code points, so UTF-8 continuation bytes do not count.
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

// Only the rule shows the alignment of a column: a program that reads the text finds every cell after "| ".
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
