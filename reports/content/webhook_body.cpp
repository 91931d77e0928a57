#include "reports/content/webhook_body.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/content/alert_document.h"
#include "reports/render/format/shown.h"

namespace perfbench::reports {
namespace {

using harness::Alert;
using harness::AlertGroup;
using Json = nlohmann::ordered_json;

constexpr std::size_t kHeaderBytes = 150;
constexpr std::size_t kSectionBytes = 3000;
constexpr std::size_t kShownAlerts = 40;  // of 50 blocks, because the header and the line about the rest take some
constexpr const char* kDots = "...";

// The three characters that Slack's mrkdwn escapes.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : shown(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// Cuts between characters, never inside one or inside an escaped one.
std::string at_most(const std::string& text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  auto end = cut_to(text, bytes - std::char_traits<char>::length(kDots)).size();
  const auto entity = text.rfind('&', end);
  if (entity != std::string::npos && entity < end && text.find(';', entity) >= end) end = entity;
  return text.substr(0, end) + kDots;
}

std::string title(const AlertGroup& group) {
  const auto bad = std::count_if(group.alerts.begin(), group.alerts.end(),
                                 [](const Alert& alert) { return harness::is_bad(alert.finding.kind); });
  const auto better = static_cast<std::ptrdiff_t>(group.alerts.size()) - bad;
  auto out = fmt::format("perfbench: {} worse, {} better", bad, better);
  if (group.environment) out = fmt::format("perfbench: {} changed with the machine", group.alerts.size());
  return out + ", commits " + range_text(group);
}

std::string section(const Alert& alert) {
  const auto& finding = alert.finding;
  auto out = fmt::format("*{}*: {}", escaped(subject_text(finding)), change_text(finding));
  const auto add = [&](const char* what, const std::string& text) {
    if (!text.empty()) out += fmt::format("\n{}: {}", what, escaped(text));
  };
  add("largest parts", attribution_text(finding));
  add("environment", facts_text(finding));
  add("came back after the fix as", alert.reopens);
  return out + "\n`perfbench alerts show " + escaped(alert.alert_id) + "`";
}

Json block(const std::string& text) {
  return {{"type", "section"}, {"text", {{"type", "mrkdwn"}, {"text", at_most(text, kSectionBytes)}}}};
}

}  // namespace

std::string webhook_body(const AlertGroup& group) {
  Json out;
  auto text = escaped(title(group));
  out["text"] = "";
  out["blocks"] = Json::array();
  out["blocks"].push_back(
      {{"type", "header"}, {"text", {{"type", "plain_text"}, {"text", at_most(shown(title(group)), kHeaderBytes)}}}});
  const auto shown = std::min(kShownAlerts, group.alerts.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& finding = group.alerts[i].finding;
    text += "\n" + escaped(subject_text(finding)) + ": " + change_text(finding);
    out["blocks"].push_back(block(section(group.alerts[i])));
  }
  if (shown < group.alerts.size()) {
    const auto rest = fmt::format("and {} more: `perfbench alerts list`", group.alerts.size() - shown);
    text += "\n" + rest;
    out["blocks"].push_back(block(rest));
  }
  out["text"] = at_most(text, kSectionBytes);
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace perfbench::reports
