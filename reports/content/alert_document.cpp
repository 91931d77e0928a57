#include "reports/content/alert_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/app/night/alert_delivery.h"
#include "harness/matrix/matrix.h"
#include "reports/content/cells.h"
#include "reports/content/headline.h"
#include "reports/render/format/escape.h"
#include "reports/render/format/number.h"

namespace perfbench::reports {
namespace {

constexpr std::size_t kShownRevisionDigits = 12;
constexpr std::size_t kShownIdDigits = 8;  // enough for `perfbench alerts`, which takes four or more
constexpr std::size_t kShownParts = 3;

std::string range_of(const std::string& good, const std::string& bad) {
  if (good.empty() || bad.empty()) return kNothing;
  return good.substr(0, kShownRevisionDigits) + ".." + bad.substr(0, kShownRevisionDigits);
}

}  // namespace

std::string change_text(const harness::Finding& finding) {
  const auto text = change_text(finding.ratio, finding.ratio_low, finding.ratio_high);
  return text.empty() ? kNothing : text;
}

ChangeTexts change_texts(const harness::Finding& finding) {
  return change_texts(finding.ratio, finding.ratio_low, finding.ratio_high);
}

std::string subject_text(const harness::Finding& finding) {
  const auto& series = finding.series;
  const auto where = series.matrix + ", " + harness::shown_label(series.cell);
  if (finding.kind == harness::FindingKind::vanished_cell) return "vanished cell: " + where;
  return fmt::format("{} of {} in {}", spec::enum_name(finding.kind), series.metric, where);
}

std::string range_text(const harness::Finding& finding) {
  return range_of(finding.last_good.revision, finding.first_bad.revision);
}

std::string range_text(const harness::AlertGroup& group) {
  return range_of(group.good_revision, group.bad_revision);
}

std::string facts_text(const harness::Finding& finding) {
  std::string out;
  for (const auto& fact : finding.environment) {
    out += (out.empty() ? "" : "; ") + fact.field + " " + fact.left + " -> " + fact.right;
  }
  return out;
}

std::string attribution_text(const harness::Finding& finding) {
  std::string out;
  const auto shown = std::min(kShownParts, finding.attribution.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& line = finding.attribution[i];
    out += fmt::format("{}{} {} ({})", i == 0 ? "" : ", ", line.name, human_time_change(line.ns),
                       format_percent(line.share));
  }
  return out;
}

Plain delivery_text(const harness::OutboxReport& report) {
  auto out = Plain::format("{} messages delivered, {} waiting", report.delivered, report.waiting.size());
  if (!report.waiting.empty()) {
    const auto& first = report.waiting.front();
    out += first.tries == 0 ? Plain::format(" (set {} to send them)", harness::kWebhookUrlVariable)
                            : Plain::format(" ({}, {} tries)", first.last_error, first.tries);
  }
  out += Plain::format(", {} given up\n", report.given_up.size());
  for (const auto& message : report.given_up) {
    out += Plain::format("given up after {} tries: message {} of {}: {}\n", message.tries, message.message_id,
                         message.created_utc, message.last_error);
  }
  return out;
}

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

// "regression in nightly, open, 95 %: +3 % to +7 %, confirmed by 20260110T030000Z-ab"
std::string basis_text(const Alert& alert) {
  const auto& finding = alert.finding;
  auto out =
      fmt::format("{} in {}, {}", spec::enum_name(finding.kind), finding.series.matrix, spec::enum_name(alert.state()));
  if (const auto interval = change_texts(finding).interval; interval != kNothing) out += ", 95 %: " + interval;
  if (!finding.confirmation.empty()) out += ", confirmed by " + joined(finding.confirmation);
  return out;
}

// Adds the known facts that explain an alert.
void explain(List& list, const Alert& alert) {
  const auto& finding = alert.finding;
  const auto add = [&](const char* what, const std::string& text) {
    if (!text.empty()) list.items.push_back(fmt::format("{}{}: {}", alert.alert_id, what, text));
  };
  add("", finding.detail.empty() ? basis_text(alert) : basis_text(alert) + "; " + finding.detail);
  add(" largest parts", attribution_text(finding));
  add(" environment changed", facts_text(finding));
  add(" came back after the fix as", alert.reopens);
}

Tone alert_tone(const Alert& alert) {
  if (!harness::is_bad(alert.finding.kind)) return Tone::good;
  switch (alert.state()) {
    case harness::AlertState::open:
      return Tone::bad;
    case harness::AlertState::acknowledged:
      return Tone::doubtful;
    default:
      return Tone::plain;
  }
}

Cell enum_cell(std::string_view name, Tone tone = Tone::plain) {
  return {std::string(name), std::string(name), tone};
}

// Fits 80 columns with short names of cells, because Markdown of a night does. The list below it has the rest.
Table alerts_for_people(const std::vector<Alert>& alerts) {
  Table out{.key = "alerts",
            .columns = {{.title = "alert", .key = "alert_id", .audience = Audience::people},
                        {.title = "state", .key = "state", .audience = Audience::pages},
                        {.title = "cell", .key = "cell", .audience = Audience::people},
                        {.title = "metric", .key = "metric", .audience = Audience::people},
                        {.title = "change", .key = "ratio", .align = Align::right, .audience = Audience::people}},
            .rows = {}};
  std::vector<std::string> cells;
  for (const auto& alert : alerts) cells.push_back(alert.finding.series.cell);
  const auto names = short_labels(cells);
  for (const auto& alert : alerts) {
    const auto& f = alert.finding;
    out.rows.push_back({.cells = {{alert.alert_id.substr(0, kShownIdDigits), alert.alert_id},
                                  enum_cell(spec::enum_name(alert.state()), alert_tone(alert)),
                                  {names.at(f.series.cell), f.series.cell},
                                  f.series.metric,
                                  {change_texts(f).change, value_of(f.ratio)}}});
  }
  return out;
}

Table alerts_for_programs(const std::vector<AlertGroup>& groups) {
  Table out{.key = "alerts", .columns = {}, .rows = {}};
  for (const auto* key :
       {"alert_id", "state", "kind", "matrix", "cell", "metric", "ratio", "confirmation", "ratio_low", "ratio_high",
        "run_id", "machine_fingerprint", "good_revision", "bad_revision", "last_good_utc", "first_bad_utc", "detail"}) {
    out.columns.push_back({.title = key, .key = key, .audience = Audience::programs});
  }
  for (const auto& group : groups) {
    for (const auto& alert : group.alerts) {
      const auto& f = alert.finding;
      Row row;
      for (auto value : {Value(alert.alert_id), Value(std::string(spec::enum_name(alert.state()))),
                         Value(std::string(spec::enum_name(f.kind))), Value(f.series.matrix), Value(f.series.cell),
                         Value(f.series.metric), value_of(f.ratio), Value(f.confirmation), value_of(f.ratio_low),
                         value_of(f.ratio_high), Value(f.series.run_id), Value(f.series.machine),
                         Value(f.last_good.revision), Value(f.first_bad.revision), Value(f.last_good.started_utc),
                         Value(f.first_bad.started_utc), Value(f.detail)}) {
        row.cells.emplace_back("", std::move(value));
      }
      out.rows.push_back(std::move(row));
    }
  }
  return out;
}

void add_group(Document& out, const AlertGroup& group, int level) {
  List explanations;
  for (const auto& alert : group.alerts) explain(explanations, alert);
  const auto& first = group.alerts.front().finding;
  out.add(Heading{.level = level,
                  .text = fmt::format("{}{}, {} to {}", group.environment ? "environment, " : "", range_text(group),
                                      first.last_good.started_utc, first.first_bad.started_utc)});
  out.add(alerts_for_people(group.alerts));
  if (!explanations.items.empty()) out.add(std::move(explanations));
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

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Table facts_of(const Alert& alert) {
  const auto& f = alert.finding;
  return {.key = "alert",
          .columns = {{.title = "what", .key = "what", .audience = Audience::people},
                      {.title = "value", .key = "value", .audience = Audience::people}},
          .rows = {{.cells = {"change", change_text(f)}},
                   {.cells = {"commits", range_text(f)}},
                   {.cells = {"last good night", f.last_good.started_utc + " " + f.last_good.sweep_id}},
                   {.cells = {"first bad night", f.first_bad.started_utc + " " + f.first_bad.sweep_id}},
                   {.cells = {"run", f.series.run_id}},
                   {.cells = {"machine", f.series.machine}},
                   {.cells = {"confirmed by", or_nothing(joined(f.confirmation))}},
                   {.cells = {"environment", or_nothing(facts_text(f))}},
                   {.cells = {"largest parts", or_nothing(attribution_text(f))}},
                   {.cells = {"came back from", or_nothing(alert.reopens)}}}};
}

}  // namespace

void add_alerts(Document& document, const std::vector<AlertGroup>& groups, int level) {
  std::size_t alerts = 0;
  for (const auto& group : groups) alerts += group.alerts.size();
  document.add(Heading{
      .level = level,
      .text = alerts == 0 ? "No alerts"
                          : fmt::format("{}, {}", counted(alerts, "alert"), counted(groups.size(), "commit range"))});
  for (const auto& group : groups) add_group(document, group, level + 1);
  document.add(alerts_for_programs(groups));
}

Document alerts_document(const std::vector<AlertGroup>& groups) {
  constexpr int kLevel = 2;
  Document out;
  add_alerts(out, groups, kLevel);
  out.json = [=] { return alerts_json(groups); };
  return out;
}

Document alert_document(const Alert& alert) {
  constexpr int kLevel = 2;
  const auto& f = alert.finding;
  Document out;
  out.add(Heading{.level = kLevel,
                  .text = fmt::format("{} {}: {}", alert.alert_id, spec::enum_name(alert.state()), subject_text(f))});
  out.add(Headline{.text = f.detail, .tone = alert_tone(alert)});
  out.add(facts_of(alert));
  List events;
  for (const auto& event : alert.events) {
    events.items.push_back(
        fmt::format("{} {} by {}: {}", event.at_utc, spec::enum_name(event.to), event.author, event.reason));
  }
  out.add(std::move(events));
  const auto groups = harness::group_by_range({alert});
  out.add(alerts_for_programs(groups));
  out.json = [=] { return alerts_json(groups); };
  return out;
}

}  // namespace perfbench::reports
