#include "reports/junit.h"

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

namespace perfbench::reports {
namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Lead {
  unsigned char mask, value;
  std::size_t length;
  char32_t smallest;  // a longer form of a smaller code point is not UTF-8
};
constexpr Lead kLeads[] = {{0x80, 0x00, 1, 0}, {0xE0, 0xC0, 2, 0x80}, {0xF0, 0xE0, 3, 0x800}, {0xF8, 0xF0, 4, 0x10000}};

// XML 1.0, production 2 (Char).
bool is_xml_char(char32_t c) {
  return c == 0x9 || c == 0xA || c == 0xD || (c >= 0x20 && c <= 0xD7FF) || (c >= 0xE000 && c <= 0xFFFD) ||
         (c >= 0x10000 && c <= 0x10FFFF);
}

// Bytes of the character at `at` that XML may hold; 0: none begins there.
std::size_t xml_char_length(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (const auto& lead : kLeads) {
    if ((byte(at) & lead.mask) != lead.value) continue;
    if (at + lead.length > text.size()) return 0;
    char32_t code = byte(at) & static_cast<unsigned char>(~lead.mask);
    for (std::size_t i = 1; i < lead.length; ++i) {
      if ((byte(at + i) & 0xC0U) != 0x80U) return 0;
      code = code << 6 | (byte(at + i) & 0x3FU);
    }
    return code >= lead.smallest && is_xml_char(code) ? lead.length : 0;
  }
  return 0;
}

std::string xml_text(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto length = xml_char_length(text, at);
    if (length == 0) {
      out += kReplacement;
      ++at;
    } else {
      out.append(text, at, length);
      at += length;
    }
  }
  return out;
}

void set(pugi::xml_node& node, const char* name, const std::string& value) {
  node.append_attribute(name).set_value(xml_text(value).c_str());
}

std::string count(const std::vector<const Check*>& checks, CheckOutcome outcome) {
  return std::to_string(
      std::count_if(checks.begin(), checks.end(), [&](const Check* check) { return check->outcome == outcome; }));
}

void add_counts(pugi::xml_node& node, const std::vector<const Check*>& checks) {
  set(node, "tests", std::to_string(checks.size()));
  set(node, "failures", count(checks, CheckOutcome::failed));
  set(node, "errors", "0");
  set(node, "skipped", count(checks, CheckOutcome::undecided));
}

void add_check(pugi::xml_node& suite, const Check& check) {
  auto node = suite.append_child("testcase");
  set(node, "classname", check.suite);
  set(node, "name", check.name);
  const auto add_outcome = [&](const char* name) {
    auto outcome = node.append_child(name);
    set(outcome, "message", check.message);
    outcome.text().set(xml_text(check.detail).c_str());
  };
  switch (check.outcome) {
    case CheckOutcome::failed:
      return add_outcome("failure");
    case CheckOutcome::undecided:
      return add_outcome("skipped");
    case CheckOutcome::passed:
      break;
  }
  if (!check.message.empty()) node.append_child("system-out").text().set(xml_text(check.message).c_str());
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

}  // namespace perfbench::reports
