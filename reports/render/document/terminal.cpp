#include "reports/render/document/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "reports/render/format/print.h"

namespace perfbench::reports {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::size_t columns_in(const std::string& text) {
  std::size_t columns = 0;
  const auto* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, columns);
  return error == std::errc{} && stopped == end ? columns : 0;
}

}  // namespace

bool is_terminal(std::FILE* stream) {
  return isatty(fileno(stream)) == 1;
}

Surroundings surroundings_of(std::FILE* stream) {
  Surroundings out{.is_terminal = is_terminal(stream),
                   .columns = variable("COLUMNS"),
                   .no_colour = variable("NO_COLOR"),
                   .term = variable("TERM")};
  winsize size{};
  if (out.is_terminal && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0) out.terminal_columns = size.ws_col;
  return out;
}

TextLayout text_layout(const Surroundings& around, std::optional<std::size_t> width) {
  TextLayout out;
  if (width) {
    out.width = *width;
  } else if (around.terminal_columns > 0) {
    out.width = around.terminal_columns;
  } else if (const auto columns = columns_in(around.columns); columns > 0) {
    out.width = columns;
  }
  out.colour = around.is_terminal && around.no_colour.empty() && around.term != "dumb";
  return out;
}

void print_document(std::FILE* out, const Document& document, DocumentFormat format, const TextLayout& layout) {
  const auto text = render(document, format, layout);
  if (format == DocumentFormat::text && layout.colour) return print_coloured(out, text);
  print_text(out, text);
}

}  // namespace perfbench::reports
