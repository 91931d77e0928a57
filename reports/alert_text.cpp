#include "reports/alert_text.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "reports/alert_phrases.h"
#include "reports/format/json_text.h"
#include "reports/format/markdown_table.h"
#include "reports/format/number.h"
#include "reports/or_null.h"

namespace perfbench::reports {
namespace {

using harness::Alert;
using harness::AlertGroup;
using Json = nlohmann::ordered_json;

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const auto& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

std::string or_nothing(const std::string& text) {
  return text.empty() ? kNothing : text;
}

// What explains an alert, a list item each; nothing for what is not known.
Markdown explanation(const Alert& alert) {
  const auto& finding = alert.finding;
  Markdown out;
  const auto add = [&](const char* what, const std::string& text) {
    if (!text.empty()) out += Markdown::format("- {}{}: {}\n", alert.alert_id, what, text);
  };
  add("", finding.detail);
  add(" largest parts", attribution_text(finding));
  add(" environment changed", facts_text(finding));
  add(" came back after it was fixed as", alert.reopens);
  return out;
}

Markdown group_markdown(const AlertGroup& group) {
  std::vector<MarkdownRow> lines{{"alert", "state", "kind", "matrix", "cell", "metric", "change", "confirmed by"}};
  Markdown explanations;
  for (const auto& alert : group.alerts) {
    const auto& f = alert.finding;
    lines.push_back({alert.alert_id, std::string(spec::enum_name(alert.state())), std::string(spec::enum_name(f.kind)),
                     f.series.matrix, f.series.cell, f.series.metric, change_text(f),
                     or_nothing(joined(f.confirmation))});
    explanations += explanation(alert);
  }
  const auto& first = group.alerts.front().finding;
  auto out = Markdown::format("### {}{}, {} to {}\n\n", group.environment ? "environment, " : "", range_text(group),
                              first.last_good.started_utc, first.first_bad.started_utc);
  out += markdown_table(lines) + Markdown::format("\n");
  return explanations.empty() ? out : out + explanations + Markdown::format("\n");
}

Json night_json(const harness::NightId& night) {
  return {{"sweep_id", night.sweep_id}, {"started_utc", night.started_utc}, {"revision", night.revision}};
}

Json alert_json(const Alert& alert) {
  const auto& f = alert.finding;
  Json out{{"alert_id", alert.alert_id},
           {"state", spec::enum_name(alert.state())},
           {"kind", spec::enum_name(f.kind)},
           {"matrix", f.series.matrix},
           {"cell", f.series.cell},
           {"run_id", f.series.run_id},
           {"metric", f.series.metric},
           {"machine_fingerprint", f.series.machine},
           {"ratio", or_null(f.ratio)},
           {"ratio_low", or_null(f.ratio_low)},
           {"ratio_high", or_null(f.ratio_high)},
           {"last_good", night_json(f.last_good)},
           {"first_bad", night_json(f.first_bad)},
           {"seen_utc", f.seen_utc},
           {"detail", f.detail},
           {"reopens", alert.reopens.empty() ? Json() : Json(alert.reopens)}};
  out["environment"] = Json::array();
  for (const auto& fact : f.environment) {
    out["environment"].push_back({{"fact", fact.field}, {"before", fact.left}, {"after", fact.right}});
  }
  out["attribution"] = Json::array();
  for (const auto& line : f.attribution) {
    out["attribution"].push_back({{"name", line.name}, {"ns", line.ns}, {"share", line.share}});
  }
  out["confirmation"] = f.confirmation;
  out["events"] = Json::array();
  for (const auto& event : alert.events) {
    out["events"].push_back({{"from", event.from ? Json(spec::enum_name(*event.from)) : Json()},
                             {"to", spec::enum_name(event.to)},
                             {"author", event.author},
                             {"reason", event.reason},
                             {"at_utc", event.at_utc}});
  }
  return out;
}

}  // namespace

Markdown alerts_markdown(const std::vector<AlertGroup>& groups) {
  std::size_t alerts = 0;
  for (const auto& group : groups) alerts += group.alerts.size();
  if (alerts == 0) return Markdown::format("## No alerts\n");
  auto out = Markdown::format("## {} alert{}, {} commit range{}\n\n", alerts, alerts == 1 ? "" : "s", groups.size(),
                              groups.size() == 1 ? "" : "s");
  for (const auto& group : groups) out += group_markdown(group);
  return out;
}

Markdown alert_markdown(const Alert& alert) {
  const auto& f = alert.finding;
  auto out = Markdown::format("## {} {}: {}\n\n{}\n\n", alert.alert_id, spec::enum_name(alert.state()), subject_text(f),
                              f.detail);
  std::vector<MarkdownRow> lines{{"what", "value"},
                                 {"change", change_text(f)},
                                 {"commits", range_text(f)},
                                 {"last good night", f.last_good.started_utc + " " + f.last_good.sweep_id},
                                 {"first bad night", f.first_bad.started_utc + " " + f.first_bad.sweep_id},
                                 {"run", f.series.run_id},
                                 {"machine", f.series.machine},
                                 {"confirmed by", or_nothing(joined(f.confirmation))},
                                 {"environment", or_nothing(facts_text(f))},
                                 {"largest parts", or_nothing(attribution_text(f))},
                                 {"came back from", or_nothing(alert.reopens)}};
  out += markdown_table(lines) + Markdown::format("\n");
  for (const auto& event : alert.events) {
    out += Markdown::format("- {} {} by {}: {}\n", event.at_utc, spec::enum_name(event.to), event.author, event.reason);
  }
  return out;
}

std::string alerts_json(const std::vector<AlertGroup>& groups) {
  Json out;
  out["groups"] = Json::array();
  for (const auto& group : groups) {
    Json alerts = Json::array();
    for (const auto& alert : group.alerts) alerts.push_back(alert_json(alert));
    out["groups"].push_back({{"good_revision", group.good_revision},
                             {"bad_revision", group.bad_revision},
                             {"environment", group.environment},
                             {"alerts", std::move(alerts)}});
  }
  return json_text(out, 2);
}

}  // namespace perfbench::reports
