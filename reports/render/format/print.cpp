#include "reports/render/format/print.h"

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace perfbench::reports {
namespace {

std::atomic<int> first_stdout_error{0};

void write(std::FILE* out, std::string_view text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0;
  if (written || out != stdout) return;
  int none = 0;
  first_stdout_error.compare_exchange_strong(none, errno != 0 ? errno : EIO);
}

// The colour at the start of the text, or nothing.
std::string_view colour_at(std::string_view text) {
  for (const auto colour : kColours) {
    if (text.starts_with(colour)) return colour;
  }
  return {};
}

}  // namespace

int standard_output_error() {
  return first_stdout_error;
}

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
