// An alert: one series that changed for good, with everything its reader needs to act on it. Plain structs; what may
// become of one is alert_rules.h, where they are kept is alert_ledger.h.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/spec/fields.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::harness {

// What changed. Everything but an improvement is bad; `environment` is a change of the machine and not of the code.
enum class AlertKind { regression, improvement, vanished_cell, loss, memory, startup, environment };

// open and acknowledged alerts are live; the others are closed, each with its own meaning for what is found later
// (alert_rules.h).
enum class AlertState { open, acknowledged, fixed, wont_fix, environment, invalid };

struct AlertSeries {
  std::string matrix;
  std::string cell;  // label
  std::string run_id;
  std::string metric;
  std::string machine;  // its class (store/machine_class.h)

  friend bool operator==(const AlertSeries&, const AlertSeries&) = default;
  friend auto operator<=>(const AlertSeries&, const AlertSeries&) = default;
};

struct AlertNight {
  std::string sweep_id;
  std::string started_utc;
  std::string revision;  // git commit of the engine; empty: unknown
};

// Part of the difference of a step's time.
struct AttributionLine {
  std::string name;  // "gemm", "all_reduce dp"
  double ns = 0;     // more (or less) of it in a step
  double share = 0;  // of the whole difference, a fraction
};

// What was found. Ratios are tonight / before.
struct AlertFinding {
  AlertSeries series;
  AlertKind kind = AlertKind::regression;
  std::optional<double> ratio;                          // nothing for a vanished cell
  std::optional<double> ratio_low;                      // 95 % interval
  std::optional<double> ratio_high;                     //
  AlertNight last_good;                                 // the two ends of the commit range
  AlertNight first_bad;                                 // of a vanished cell: the first night without it
  std::string seen_utc;                                 // start of the newest night that shows it
  std::string detail;                                   // a sentence for a person
  std::vector<spec::FieldDifference> environment = {};  // facts that changed from last_good to first_bad
  std::vector<AttributionLine> attribution = {};        // largest first
  std::vector<std::string> confirmation = {};           // ids of the A/B comparisons that confirmed it
};

struct AlertEvent {
  std::optional<AlertState> from;  // nothing: it was opened
  AlertState to = AlertState::open;
  std::string author;
  std::string reason;
  std::string at_utc;
};

struct Alert {
  std::string alert_id;  // 12 hex digits, the same in every database
  AlertFinding finding;
  std::string reopens = {};             // alert_id of the fixed one that came back
  std::vector<AlertEvent> events = {};  // oldest first; the first opened it

  AlertState state() const { return events.back().to; }
};

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::AlertKind> {
  using K = perfbench::harness::AlertKind;
  static constexpr std::array kNames{std::pair{K::regression, "regression"},  std::pair{K::improvement, "improvement"},
                                     std::pair{K::vanished_cell, "vanished"}, std::pair{K::loss, "loss"},
                                     std::pair{K::memory, "memory"},          std::pair{K::startup, "startup"},
                                     std::pair{K::environment, "environment"}};
};
template <>
struct perfbench::spec::EnumNames<perfbench::harness::AlertState> {
  using S = perfbench::harness::AlertState;
  static constexpr std::array kNames{
      std::pair{S::open, "open"},         std::pair{S::acknowledged, "acknowledged"}, std::pair{S::fixed, "fixed"},
      std::pair{S::wont_fix, "wont_fix"}, std::pair{S::environment, "environment"},   std::pair{S::invalid, "invalid"}};
};
