#include "reports/content/checks.h"

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

#include "harness/judge/alert_rules.h"
#include "reports/content/alert_document.h"
#include "reports/render/document/render.h"
#include "reports/render/format/escape.h"
#include "reports/render/format/shown.h"

namespace perfbench::reports {

Check check_of(const harness::Alert& alert) {
  const auto& finding = alert.finding;
  Check out;
  out.suite = finding.series.matrix;
  out.name = finding.series.cell + " " + finding.series.metric;
  const bool failed = harness::is_live(alert.state()) && harness::is_bad(finding.kind);
  out.outcome = failed ? CheckOutcome::failed : CheckOutcome::passed;
  out.message = subject_text(finding) + ": " + change_text(finding) + ", commits " + range_text(finding) + " (alert " +
                alert.alert_id + ", " + std::string(spec::enum_name(alert.state())) + ")";
  out.detail = render_markdown(alert_document(alert));
  return out;
}

namespace {

void set(pugi::xml_node& node, const char* name, const std::string& value) {
  node.append_attribute(name).set_value(xml_text(shown(value)).c_str());
}

std::string count_attribute(const std::vector<const Check*>& checks, CheckOutcome outcome) {
  return std::to_string(
      std::count_if(checks.begin(), checks.end(), [&](const Check* check) { return check->outcome == outcome; }));
}

void add_counts(pugi::xml_node& node, const std::vector<const Check*>& checks) {
  set(node, "tests", std::to_string(checks.size()));
  set(node, "failures", count_attribute(checks, CheckOutcome::failed));
  set(node, "errors", "0");
  set(node, "skipped", count_attribute(checks, CheckOutcome::undecided));
}

void add_check(pugi::xml_node& suite, const Check& check) {
  auto node = suite.append_child("testcase");
  set(node, "classname", check.suite);
  set(node, "name", check.name);
  const auto add_outcome = [&](const char* name) {
    auto outcome = node.append_child(name);
    set(outcome, "message", check.message);
    outcome.text().set(xml_text(shown_lines(check.detail)).c_str());
  };
  switch (check.outcome) {
    case CheckOutcome::failed:
      return add_outcome("failure");
    case CheckOutcome::undecided:
      return add_outcome("skipped");
    case CheckOutcome::passed:
      break;
  }
  if (!check.message.empty()) node.append_child("system-out").text().set(xml_text(shown(check.message)).c_str());
}

}  // namespace

std::string to_junit(const std::vector<Check>& checks) {
  std::vector<const Check*> all;
  std::vector<std::string> suites;
  for (const auto& check : checks) {
    all.push_back(&check);
    if (std::find(suites.begin(), suites.end(), check.suite) == suites.end()) suites.push_back(check.suite);
  }
  pugi::xml_document document;
  auto root = document.append_child("testsuites");
  set(root, "name", "perfbench");
  add_counts(root, all);
  for (const auto& name : suites) {
    std::vector<const Check*> mine;
    std::copy_if(all.begin(), all.end(), std::back_inserter(mine),
                 [&](const Check* check) { return check->suite == name; });
    auto suite = root.append_child("testsuite");
    set(suite, "name", name);
    add_counts(suite, mine);
    for (const auto* check : mine) add_check(suite, *check);
  }
  std::ostringstream out;
  document.save(out, "  ", pugi::format_default, pugi::encoding_utf8);
  return out.str();
}

namespace {

// Escapes as @actions/core does: '%' begins an escape, and a property also ends at ',' or ':'. shown() has already
// removed line ends.
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
