#include "reports/annotations.h"

#include "reports/format/shown.h"

namespace perfbench::reports {
namespace {

// As @actions/core does it: '%' begins an escape, a property also ends at ',' or ':'. shown() leaves no line end.
std::string escaped_message(const std::string& text) {
  std::string out;
  for (const char c : shown(text)) {
    if (c == '%') {
      out += "%25";
    } else {
      out += c;
    }
  }
  return out;
}

std::string escaped_property(const std::string& text) {
  std::string out;
  for (const char c : escaped_message(text)) {
    if (c == ':') {
      out += "%3A";
    } else if (c == ',') {
      out += "%2C";
    } else {
      out += c;
    }
  }
  return out;
}

const char* command_of(CheckOutcome outcome) {
  switch (outcome) {
    case CheckOutcome::failed:
      return "error";
    case CheckOutcome::undecided:
      return "warning";
    case CheckOutcome::passed:
      break;
  }
  return "notice";
}

}  // namespace

std::string github_annotations(const std::vector<Check>& checks) {
  std::string out;
  for (const auto& check : checks) {
    if (check.message.empty()) continue;
    out += std::string("::") + command_of(check.outcome) +
           " title=" + escaped_property(check.suite + ": " + check.name) + "::" + escaped_message(check.message) + "\n";
  }
  return out;
}

}  // namespace perfbench::reports
