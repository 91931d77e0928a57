#include "harness/judge/alert_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "reports/render/format/number.h"

namespace perfbench::harness {
namespace {

struct StateRule {
  AlertState state;
  std::vector<AlertState> next;
};

const std::vector<StateRule>& state_rules() {
  using S = AlertState;
  static const std::vector<StateRule> rules{
      {S::open, {S::acknowledged, S::fixed, S::wont_fix, S::environment, S::invalid}},
      {S::acknowledged, {S::open, S::fixed, S::wont_fix, S::environment, S::invalid}},
      {S::fixed, {}},
      {S::wont_fix, {S::open}},
      {S::environment, {S::open}},
      {S::invalid, {S::open}},
  };
  return rules;
}

std::string names_of(const std::vector<AlertState>& states) {
  std::string out;
  for (const auto state : states) out += (out.empty() ? "" : ", ") + std::string(spec::enum_name(state));
  return out.empty() ? "none: if the finding comes back, a new alert opens" : out;
}

// The end of the interval that is nearer to no change; 0 if the interval includes no change.
double surest_size_of(const Finding& finding) {
  const auto& low = finding.ratio_low;
  const auto& high = finding.ratio_high;
  if (!low || !high || *low <= 0) return size_of(finding);
  if ((*low - 1) * (*high - 1) <= 0) return 0;
  return std::min(std::abs(std::log(*low)), std::abs(std::log(*high)));
}

// Whether the finding is too large to be the known shift, whose estimate varies from night to night: it is more than
// twice as large, and the difference matters.
bool outgrows(const Finding& finding, const Finding& known) {
  constexpr double kMargin = 0.02;
  return surest_size_of(finding) > size_of(known) + std::max(size_of(known), std::log1p(kMargin));
}

// As more nights are seen, the estimate of a shift's first night moves by up to this many days.
constexpr std::int64_t kWanderDays = 3;

// Whether all of `finding` came after the known shift: pairs of two engines that both contain the known shift differ.
bool is_after(const Finding& finding, const Finding& known) {
  const auto good = day_number(finding.last_good.started_utc);
  const auto bad = day_number(known.first_bad.started_utc);
  return good && bad && *good >= *bad + kWanderDays;
}

// If a machine changed its speed, everything on it did.
bool are_of_one_thing(const Finding& a, const Finding& b) {
  if (a.kind != b.kind) return false;
  return a.kind == FindingKind::environment ? a.series.machine == b.series.machine : a.series == b.series;
}

std::string told(const Alert& alert) {
  const auto& ratio = alert.finding.ratio;
  const auto change = ratio ? " " + reports::format_percent_change(*ratio) : "";
  return std::string(spec::enum_name(alert.finding.kind)) + change + ", alert " + alert.alert_id + " " +
         std::string(spec::enum_name(alert.state()));
}

bool is_first(const Alert& a, const Alert& b) {
  const auto rank = [](const Alert& alert) { return std::pair(!is_bad(alert.finding.kind), -size_of(alert.finding)); };
  return rank(a) < rank(b);
}

}  // namespace

bool is_live(AlertState state) {
  return state == AlertState::open || state == AlertState::acknowledged;
}

std::vector<AlertState> next_states(AlertState state) {
  for (const auto& rule : state_rules()) {
    if (rule.state == state) return rule.next;
  }
  return {};
}

AlertEvent transition(const Alert& alert, AlertState to, const std::string& author, const std::string& reason,
                      const std::string& at_utc) {
  const auto allowed = next_states(alert.state());
  if (std::find(allowed.begin(), allowed.end(), to) == allowed.end()) {
    throw InputError("[alerts] " + alert.alert_id + " is " + std::string(spec::enum_name(alert.state())) +
                     " and cannot become " + std::string(spec::enum_name(to)) +
                     "; allowed next states: " + names_of(allowed));
  }
  if (author.empty()) throw InputError("[alerts] a change of " + alert.alert_id + " needs an author: give --author");
  if (reason.empty()) throw InputError("[alerts] a change of " + alert.alert_id + " needs a reason: give --reason");
  return {.from = alert.state(), .to = to, .author = author, .reason = reason, .at_utc = at_utc};
}

FindingPlace place_finding(const std::vector<Alert>& alerts, const Finding& finding) {
  const Alert* newest = nullptr;
  for (const auto& alert : alerts) {
    if (are_of_one_thing(alert.finding, finding)) newest = &alert;
  }
  if (newest == nullptr) return {};
  const auto place = [&](FindingMeaning meaning) { return FindingPlace{meaning, newest->alert_id}; };
  const auto& judged_utc = newest->events.back().at_utc;
  if (newest->state() == AlertState::fixed) {
    return place(finding.seen_utc > judged_utc ? FindingMeaning::comes_back : FindingMeaning::known);
  }
  // A comparison with a night from before the shift includes that shift.
  const bool contains_it = finding.last_good.started_utc < newest->finding.first_bad.started_utc;
  const bool judged = newest->state() != AlertState::open;
  const bool later_shift = judged && finding.first_bad.started_utc > judged_utc && !contains_it;
  const bool paired = finding.kind != FindingKind::environment && finding.kind != FindingKind::vanished_cell;
  if (paired && is_after(finding, newest->finding)) return {};
  if (later_shift || outgrows(finding, newest->finding)) return {};
  return place(is_live(newest->state()) ? FindingMeaning::continues : FindingMeaning::known);
}

std::vector<KnownShift> known_shifts(const std::vector<Alert>& alerts) {
  std::vector<KnownShift> out;
  for (const auto& alert : alerts) {
    const auto& finding = alert.finding;
    if (finding.kind == FindingKind::vanished_cell || alert.state() == AlertState::invalid) continue;
    const bool judged = alert.state() != AlertState::open;
    out.push_back({.series = finding.series,
                   .first_utc = finding.first_bad.started_utc,
                   .of_machine = finding.kind == FindingKind::environment && judged,
                   .live = is_live(alert.state()),
                   .told = told(alert)});
  }
  return out;
}

std::map<std::pair<std::string, std::string>, NightId> newest_improvements(const std::vector<Alert>& alerts,
                                                                           const std::string& matrix) {
  std::map<std::pair<std::string, std::string>, NightId> out;
  for (const auto& alert : alerts) {
    const auto& finding = alert.finding;
    const bool counts = finding.kind == FindingKind::improvement && alert.state() != AlertState::invalid;
    if (!counts || finding.series.matrix != matrix) continue;
    auto& newest = out[{finding.series.cell, finding.series.metric}];
    if (finding.first_bad.started_utc > newest.started_utc) newest = finding.first_bad;
  }
  return out;
}

std::vector<Verdict> verdicts_of(const std::vector<Alert>& alerts) {
  std::vector<Verdict> out;
  for (const auto& alert : alerts) {
    if (!is_live(alert.state()) || !is_bad(alert.finding.kind)) continue;
    const bool nobody_looks = alert.state() == AlertState::open && alert.finding.kind != FindingKind::environment;
    out.push_back(nobody_looks ? Verdict::regressed : Verdict::inconclusive);
  }
  return out;
}

std::vector<AlertGroup> group_by_range(const std::vector<Alert>& alerts) {
  auto ordered = alerts;
  std::stable_sort(ordered.begin(), ordered.end(), [](const Alert& a, const Alert& b) {
    return a.finding.first_bad.started_utc < b.finding.first_bad.started_utc;
  });
  std::vector<AlertGroup> out;
  for (auto& alert : ordered) {
    const auto& good = alert.finding.last_good.revision;
    const auto& bad = alert.finding.first_bad.revision;
    const bool environment = alert.finding.kind == FindingKind::environment;
    auto group = std::find_if(out.begin(), out.end(), [&](const AlertGroup& g) {
      return g.good_revision == good && g.bad_revision == bad && g.environment == environment;
    });
    if (group == out.end()) {
      out.push_back({.good_revision = good, .bad_revision = bad, .environment = environment, .alerts = {}});
      group = out.end() - 1;
    }
    group->alerts.push_back(std::move(alert));
  }
  for (auto& group : out) std::stable_sort(group.alerts.begin(), group.alerts.end(), is_first);
  return out;
}

}  // namespace perfbench::harness
