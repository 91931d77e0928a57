// The state of a database in a few words, as a small picture for a README or a dashboard.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/records/alert.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

struct Badge {
  std::string text;  // "1 open alert, worst +12.4 %", "no open alert, night of 2026-11-28", "no night"
  Tone tone = Tone::plain;
};

// `live`: alerts that are open or acknowledged; those of improvements do not count. `newest_night_utc`: the start of
// the newest night; nullopt: the database has none, so that the absence of alerts says nothing.
Badge badge_of(const std::vector<harness::Alert>& live, const std::optional<std::string>& newest_night_utc);

// An SVG file: "perfbench" on the left, the text on the right, on a background of the tone.
std::string badge_svg(const Badge& badge);

}  // namespace perfbench::reports
