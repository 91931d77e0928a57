// A finding: one series that changed, with all that its reader needs to act on it. A finding that is kept becomes an
// alert (harness/records/alert.h).
#pragma once

#include <array>
#include <compare>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/spec/fields.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::harness {

// The kind of change. `environment` is a change of the machine and not of the code. `noisier`: the series scatters more
// than it did, and nothing shifted; it makes no alert.
enum class FindingKind { regression, improvement, vanished_cell, loss, memory, startup, environment, noisier };

struct SeriesId {
  std::string matrix;
  std::string cell;  // label
  std::string run_id;
  std::string metric;
  std::string machine;  // machine class (harness/evidence/environment_rows.h)

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"matrix", "name of the matrix"}, self.matrix);
    f(Field{"cell", "label of the cell"}, self.cell);
    f(Field{"run_id", "its run"}, self.run_id);
    f(Field{"metric", "name of the metric"}, self.metric);
    f(Field{"machine", "class of the machine"}, self.machine);
  }

  friend bool operator==(const SeriesId&, const SeriesId&) = default;
  friend auto operator<=>(const SeriesId&, const SeriesId&) = default;
};

struct NightId {
  std::string sweep_id;
  std::string started_utc;
  std::string revision;  // git commit of the engine; empty: unknown

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"sweep_id", "its sweep"}, self.sweep_id);
    f(Field{"started_utc", "when it began"}, self.started_utc);
    f(Field{"revision", "commit of the engine"}, self.revision);
  }
};

// Part of the difference in step time.
struct AttributionLine {
  std::string name;  // "gemm", "all_reduce dp"
  double ns = 0;     // additional time in a step, negative for less
  double share = 0;  // as a fraction of the whole difference

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    constexpr double kMost = std::numeric_limits<double>::max();
    f(Field{"name", "the part"}, self.name);
    f(Field{"ns", "additional time in a step", -kMost, kMost}, self.ns);
    f(Field{"share", "share of the whole difference", -kMost, kMost}, self.share);
  }
};

// A change that was found. Ratios are tonight / before.
struct Finding {
  SeriesId series;
  FindingKind kind = FindingKind::regression;
  std::optional<double> ratio;                          // nullopt for a vanished cell
  std::optional<double> ratio_low;                      // 95 % interval, lower end
  std::optional<double> ratio_high;                     // 95 % interval, upper end
  NightId last_good;                                    // commit range: its start, and its end in first_bad
  NightId first_bad;                                    // for a vanished cell: the first night without it
  std::string seen_utc;                                 // start of the newest night that shows it
  std::string detail;                                   // a sentence for the reader
  std::vector<spec::FieldDifference> environment = {};  // facts that changed from last_good to first_bad
  std::vector<AttributionLine> attribution = {};        // largest first
  std::vector<std::string> confirmation = {};           // ids of the paired comparisons that confirmed it

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"series", "which"}, self.series);
    f(Field{"kind", "what changed"}, self.kind);
    f(Field{"ratio", "tonight / before; null: no ratio", 0.0}, self.ratio);
    f(Field{"ratio_low", "lower end of its interval", 0.0}, self.ratio_low);
    f(Field{"ratio_high", "upper end of its interval", 0.0}, self.ratio_high);
    f(Field{"last_good", "night before"}, self.last_good);
    f(Field{"first_bad", "first night that shows it"}, self.first_bad);
    f(Field{"seen_utc", "start of the newest night that shows it"}, self.seen_utc);
    f(Field{"detail", "in a sentence"}, self.detail);
    f(Field{"environment", "facts that changed"}, self.environment);
    f(Field{"attribution", "parts of the difference, largest first"}, self.attribution);
    f(Field{"confirmation", "comparisons that confirmed it"}, self.confirmation);
  }
};

double size_of(const Finding& finding);  // |ln ratio|; 0 without a ratio
bool is_bad(FindingKind kind);           // every kind except an improvement and more noise
// The kind of a finding in which this metric gets worse: memory, loss or start-up, otherwise a regression.
FindingKind bad_kind_of(std::string_view metric);

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::FindingKind> {
  using K = perfbench::harness::FindingKind;
  static constexpr std::array kNames{std::pair{K::regression, "regression"},   std::pair{K::improvement, "improvement"},
                                     std::pair{K::vanished_cell, "vanished"},  std::pair{K::loss, "loss"},
                                     std::pair{K::memory, "memory"},           std::pair{K::startup, "startup"},
                                     std::pair{K::environment, "environment"}, std::pair{K::noisier, "noisier"}};
};
