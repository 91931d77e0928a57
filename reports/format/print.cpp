#include "reports/format/print.h"

namespace perfbench::reports {
namespace {

void write(std::FILE* out, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
}

}  // namespace

void print_text(std::FILE* out, std::string_view lines) {
  write(out, shown_lines(lines));
}

void print_workflow_commands(std::string_view commands) {
  write(stdout, commands);
}

void erase_line(std::FILE* out) {
  write(out, "\r\x1b[2K");
}

}  // namespace perfbench::reports
