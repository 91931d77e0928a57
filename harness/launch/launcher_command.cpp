#include "harness/launch/launcher_command.h"

#include <fmt/core.h>

#include <cctype>

namespace perfbench::harness {
namespace {

constexpr std::chrono::seconds kLongestCall{60};

}  // namespace

ProcessEnd call_launcher(std::vector<std::string> command) {
  return run_process({.command = std::move(command)}, {.time_limit = kLongestCall});
}

std::string message_of(const ProcessEnd& end) {
  if (end.cause == EndCause::time_limit) return "no answer within a minute";
  const auto text = trimmed_end(end.error_output);
  return text.empty() ? fmt::format("exit code {}", end.exit_code) : first_line(text);
}

std::string trimmed_end(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
  return text;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace perfbench::harness
