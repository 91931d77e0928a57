// A finding like those of the nightly screen, for tests of the code that handles them.
#pragma once

#include <string>

#include "harness/records/alert.h"

namespace perfbench::harness {

// Night `n` of January 2026, at two o'clock.
inline NightId example_night(int n, const std::string& revision = "") {
  const std::string day = (n < 10 ? "0" : "") + std::to_string(n);
  return {.sweep_id = "202601" + day + "T020000Z-nightly",
          .started_utc = "2026-01-" + day + "T02:00:00Z",
          .revision = revision.empty() ? "rev" + day : revision};
}

inline Finding example_finding(const std::string& cell = "model=a", int first_bad = 10) {
  Finding out;
  out.series = {"nightly", cell, std::string(64, 'a'), "step_time_s", std::string(64, 'f')};
  out.kind = FindingKind::regression;
  out.ratio = 1.05;
  out.ratio_low = 1.03;
  out.ratio_high = 1.07;
  out.last_good = example_night(first_bad - 1);
  out.first_bad = example_night(first_bad);
  out.seen_utc = out.first_bad.started_utc;
  out.detail = "step_time_s rose by 5 %";
  return out;
}

inline Alert example_alert(const Finding& finding, const std::string& id) {
  Alert out{.alert_id = id, .finding = finding};
  out.events.push_back({.from = {},
                        .to = AlertState::open,
                        .author = "perfbench nightly",
                        .reason = finding.detail,
                        .at_utc = finding.seen_utc});
  return out;
}

}  // namespace perfbench::harness
