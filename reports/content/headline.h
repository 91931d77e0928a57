// The answer of a document in one line, which its reader looks for first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/stats/decision.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// The decision about one metric of a cell.
struct Judged {
  std::string cell;
  std::string metric = {};
  harness::Verdict verdict = harness::Verdict::inconclusive;
  std::optional<double> ratio = {};  // new / old, with its 95 % interval
  std::optional<double> ratio_low = {};
  std::optional<double> ratio_high = {};
  std::string since = {};  // commits between which it changed: "4f2a91c3..9bc1d020"; empty: unknown
};

Judged judged(const std::string& cell, const std::string& metric, const harness::Decision& decision);

// "REGRESSED: 2 of 12 cells, worst +12.4 % (95 %: +11.8 % to +13.1 %), step_time_s of gpt-mini". `overall` is the
// verdict of the document. A cell counts once, however many of its metrics were judged.
Paragraph headline(harness::Verdict overall, const std::vector<Judged>& judged);

// "+12.4 % (95 %: +11.8 % to +13.1 %)"; empty without a ratio.
std::string change_text(const std::optional<double>& ratio, const std::optional<double>& low,
                        const std::optional<double>& high);

}  // namespace perfbench::reports
