#include "reports/content/badge.h"

#include <fmt/core.h>

#include <cmath>
#include <pugixml.hpp>
#include <sstream>
#include <utility>

#include "reports/render/format/escape.h"
#include "reports/render/format/number.h"
#include "reports/render/format/shown.h"

namespace perfbench::reports {
namespace {

// White text has a contrast of at least 4.5 on each of these.
const char* background_of(Tone tone) {
  switch (tone) {
    case Tone::good:
      return "#116329";
    case Tone::bad:
      return "#b3141d";
    case Tone::doubtful:
      return "#7a4d00";
    case Tone::plain:
      break;
  }
  return "#57606a";
}

void add_part(pugi::xml_node parent, int left, int width, const char* background, const std::string& text) {
  constexpr int kHeight = 20;
  auto box = parent.append_child("rect");
  box.append_attribute("x") = left;
  box.append_attribute("width") = width;
  box.append_attribute("height") = kHeight;
  box.append_attribute("fill") = background;
  auto label = parent.append_child("text");
  label.append_attribute("x") = left + width / 2;
  label.append_attribute("y") = 14;
  label.append_attribute("text-anchor") = "middle";
  label.append_attribute("fill") = "#ffffff";
  label.append_attribute("font-family") = "Verdana,DejaVu Sans,sans-serif";
  label.append_attribute("font-size") = 11;
  label.text() = xml_text(shown(text)).c_str();
}

}  // namespace

Badge badge_of(const std::vector<harness::Alert>& live, const std::optional<std::string>& newest_night_utc) {
  for (const auto& [state, tone] :
       {std::pair{harness::AlertState::open, Tone::bad}, {harness::AlertState::acknowledged, Tone::doubtful}}) {
    std::size_t alerts = 0;
    std::optional<double> worst;
    for (const auto& alert : live) {
      if (!harness::is_bad(alert.finding.kind) || alert.state() != state) continue;
      ++alerts;
      const auto& ratio = alert.finding.ratio;
      if (!ratio || *ratio <= 0) continue;
      if (!worst || std::abs(std::log(*ratio)) > std::abs(std::log(*worst))) worst = ratio;
    }
    if (alerts == 0) continue;
    auto text = fmt::format("{} {} alert{}", alerts, spec::enum_name(state), alerts == 1 ? "" : "s");
    if (worst) text += ", worst " + format_percent_change(*worst);
    return {std::move(text), tone};
  }
  if (!newest_night_utc) return {"no night", Tone::plain};
  constexpr std::size_t kDate = 10;
  return {"no open alert, night of " + newest_night_utc->substr(0, kDate), Tone::good};
}

std::string badge_svg(const Badge& badge) {
  constexpr int kName = 66;
  constexpr int kLetter = 7;
  const int width = kLetter * static_cast<int>(badge.text.size()) + 12;
  pugi::xml_document document;
  auto root = document.append_child("svg");
  root.append_attribute("xmlns") = "http://www.w3.org/2000/svg";
  root.append_attribute("width") = kName + width;
  root.append_attribute("height") = 20;
  root.append_attribute("role") = "img";
  root.append_attribute("aria-label") = xml_text(shown("perfbench: " + badge.text)).c_str();
  add_part(root, 0, kName, "#1b1f24", "perfbench");
  add_part(root, kName, width, background_of(badge.tone), badge.text);
  std::ostringstream out;
  document.save(out, "", pugi::format_raw | pugi::format_no_declaration, pugi::encoding_utf8);
  return out.str() + "\n";
}

}  // namespace perfbench::reports
