#include "reports/format/print.h"

#include <algorithm>

#include "reports/format/colour.h"

namespace perfbench::reports {
namespace {

void write(std::FILE* out, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
}

// The one that begins the text, or nothing.
std::string_view colour_at(std::string_view text) {
  for (const auto colour : kColours) {
    if (text.starts_with(colour)) return colour;
  }
  return {};
}

}  // namespace

void print_text(std::FILE* out, std::string_view lines) {
  write(out, shown_lines(lines));
}

void print_coloured(std::FILE* out, std::string_view lines) {
  std::string text;
  while (!lines.empty()) {
    const auto colour = colour_at(lines);
    const auto end = colour.empty() ? std::min(lines.find(kColourBegins, 1), lines.size()) : colour.size();
    text += colour.empty() ? shown_lines(lines.substr(0, end)) : std::string(colour);
    lines.remove_prefix(end);
  }
  write(out, text);
}

void print_workflow_commands(std::string_view commands) {
  write(stdout, commands);
}

void erase_line(std::FILE* out) {
  write(out, "\r\x1b[2K");
}

}  // namespace perfbench::reports
