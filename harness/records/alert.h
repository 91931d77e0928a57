// An alert: a finding (harness/records/finding.h) that is kept, and the decisions that people made about it.
// alert_rules.h has the allowed changes of state, alert_ledger.h the storage.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/records/finding.h"
#include "workloads/spec/fields.h"

namespace perfbench::harness {

// open and acknowledged alerts are live. The others are closed, and each state has its own effect on later findings
// (alert_rules.h).
enum class AlertState { open, acknowledged, fixed, wont_fix, environment, invalid };

struct AlertEvent {
  std::optional<AlertState> from;  // nullopt: the event opened the alert
  AlertState to = AlertState::open;
  std::string author;
  std::string reason;
  std::string at_utc;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"from", "state before the event; null: it opened the alert"}, self.from);
    f(Field{"to", "state after"}, self.to);
    f(Field{"author", "who"}, self.author);
    f(Field{"reason", "why"}, self.reason);
    f(Field{"at_utc", "when"}, self.at_utc);
  }
};

struct Alert {
  std::string alert_id;  // 12 hex digits, the same in every database
  Finding finding;
  std::string reopens = {};             // alert_id of the fixed alert that came back
  std::vector<AlertEvent> events = {};  // oldest first; the first event opened it

  AlertState state() const { return events.back().to; }

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"alert_id", "12 hex digits"}, self.alert_id);
    f(Field{"finding", "what was found"}, self.finding);
    f(Field{"reopens", "the fixed alert that came back, or empty"}, self.reopens);
    f(Field{"events", "its history, oldest first"}, self.events);
  }
};

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::AlertState> {
  using S = perfbench::harness::AlertState;
  static constexpr std::array kNames{
      std::pair{S::open, "open"},         std::pair{S::acknowledged, "acknowledged"}, std::pair{S::fixed, "fixed"},
      std::pair{S::wont_fix, "wont_fix"}, std::pair{S::environment, "environment"},   std::pair{S::invalid, "invalid"}};
};
