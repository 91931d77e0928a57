// The answer of a document in one line, which its reader looks for first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/stats/decision.h"
#include "reports/render/document/document.h"
#include "reports/render/format/number.h"

namespace perfbench::reports {

// The decision about one metric of a cell.
struct Judged {
  std::string cell;
  std::string metric = {};
  harness::Verdict verdict = harness::Verdict::inconclusive;
  std::optional<double> ratio = {};  // new / old, with its 95 % interval
  std::optional<double> ratio_low = {};
  std::optional<double> ratio_high = {};
  std::optional<double> margin_fraction = {};  // smaller changes do not matter
  std::string since = {};                      // commits between which it changed: "4f2a91c3..9bc1d020"; empty: unknown
};

// Without a margin.
Judged judged(const std::string& cell, const std::string& metric, const harness::Decision& decision);

// "REGRESSED: 2 of 12 cells, worst +12.4 % (95 %: +11.8 % to +13.1 %), step_time_s of gpt-mini". `overall` is the
// verdict of the document. A cell counts once, however many of its metrics were judged.
Headline headline(harness::Verdict overall, const std::vector<Judged>& judged);

// A card for each verdict with the number of its cells, the worst verdict first, and one for the largest change.
Cards verdict_cards(const std::vector<Judged>& judged);

// The largest regression or, without one, the largest improvement. nullopt if there is neither.
std::optional<Card> largest_change_card(const std::vector<Judged>& judged);

// Estimates with their intervals, each in a row beside the margin within which a change does not matter. The worst
// verdicts come first, then the largest changes. A chart without a series if nothing has a ratio.
Chart decisions_chart(const std::vector<Judged>& judged, const std::string& title);

// A change and its 95 % interval, with as many digits as the interval justifies: "+12.4 %" and "+11.8 % to +13.1 %".
struct ChangeTexts {
  std::string change = kNothing;    // kNothing without a ratio
  std::string interval = kNothing;  // kNothing without an interval
};
ChangeTexts change_texts(const std::optional<double>& ratio, const std::optional<double>& low,
                         const std::optional<double>& high);
ChangeTexts change_texts(const harness::Decision& decision);

// "+12.4 % (95 %: +11.8 % to +13.1 %)"; empty without a ratio.
std::string change_text(const std::optional<double>& ratio, const std::optional<double>& low,
                        const std::optional<double>& high);

}  // namespace perfbench::reports
