// Comparisons in pairs as rows, as the ledger stores them and an export contains them. Attempts are given by name.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/records/attempt_name.h"
#include "harness/records/executed_pair.h"
#include "workloads/spec/fields.h"

namespace perfbench::harness {

// current: this perfbench's own engine, without more settings. fault: the same engine with an injected fault
// (engine/faults/faults.h), to test whether a comparison finds it. command: the command line of a training program.
// environment: the program of the matrix with other environment variables, or in a container of another image.
enum class SideKind { current, settings, binary, revision, fault, command, environment };

enum class AbPurpose { compare, bisect, confirm, creep, selftest };  // creep: compares a night with its control

// The prefix in the name of a side with settings, "set:attention=flash,remat=none".
inline constexpr std::string_view kSetPrefix = "set:";
// Returns "attention=flash", "remat=none". Throws InputError if one of them is empty.
std::vector<std::string> side_settings(const std::string& asked);

struct StoredSide {
  Side side = Side::a;
  std::string asked;
  SideKind kind = SideKind::current;
  std::string git_commit;
  std::string engine;
  std::string engine_sha256;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"side", "A or B"}, self.side);
    f(Field{"asked", "as it was named"}, self.asked);
    f(Field{"kind", "kind of the side"}, self.kind);
    f(Field{"git_commit", "of a revision"}, self.git_commit);
    f(Field{"engine", "path of the engine"}, self.engine);
    f(Field{"engine_sha256", "SHA-256 of the engine's file"}, self.engine_sha256);
  }
};

// ExecutedPair without its two runs.
struct StoredPair {
  std::string cell;
  std::int64_t cell_index = 0;
  std::int64_t pair = 1;
  Side first_side = Side::a;
  Discard discard = Discard::none;
  std::string discarded;
  std::optional<std::int64_t> a_instructions;
  std::optional<std::int64_t> b_instructions;
  double a_steal_fraction = 0;
  double b_steal_fraction = 0;
  double a_foreign_fraction = 0;
  double b_foreign_fraction = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    constexpr double kMost = std::numeric_limits<double>::max();
    f(Field{"cell", "label of the cell"}, self.cell);
    f(Field{"cell_index", "counted from 0", 0}, self.cell_index);
    f(Field{"pair", "counted from 1 in the cell", 1}, self.pair);
    f(Field{"first_side", "side that ran first"}, self.first_side);
    f(Field{"discard", "why it does not count, or none"}, self.discard);
    f(Field{"discarded", "the same as a sentence"}, self.discarded);
    f(Field{"a_instructions", "instructions of A's run; null: not counted", 0}, self.a_instructions);
    f(Field{"b_instructions", "instructions of B's run; null: not counted", 0}, self.b_instructions);
    f(Field{"a_steal_fraction", "share taken by the hypervisor while A ran", -kMost, kMost}, self.a_steal_fraction);
    f(Field{"b_steal_fraction", "share taken by the hypervisor while B ran", -kMost, kMost}, self.b_steal_fraction);
    f(Field{"a_foreign_fraction", "share taken by other processes while A ran", -kMost, kMost},
      self.a_foreign_fraction);
    f(Field{"b_foreign_fraction", "share taken by other processes while B ran", -kMost, kMost},
      self.b_foreign_fraction);
  }
};

struct PairOfAttempts {
  StoredPair row;
  AttemptName a;
  AttemptName b;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"row", "the pair"}, self.row);
    f(Field{"a", "attempt of A"}, self.a);
    f(Field{"b", "attempt of B"}, self.b);
  }
};

// For a pair whose two runs took turns.
struct StoredTurns {
  std::int64_t cell_index = 0;
  std::int64_t pair = 1;
  std::optional<double> step_log_ratio;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    constexpr double kMost = std::numeric_limits<double>::max();
    f(Field{"cell_index", "counted from 0", 0}, self.cell_index);
    f(Field{"pair", "counted from 1 in the cell", 1}, self.pair);
    f(Field{"step_log_ratio", "ln(B / A) of the step time; null: a run did not end well", -kMost, kMost},
      self.step_log_ratio);
  }
};

// Observations of one run of such a pair while the other one stepped.
struct StoredTurnCheck {
  std::int64_t cell_index = 0;
  std::int64_t pair = 1;
  double a_cpu_s = 0;
  double a_wall_s = 0;
  double b_cpu_s = 0;
  double b_wall_s = 0;
  std::optional<double> order_log_effect;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    constexpr double kMost = std::numeric_limits<double>::max();
    f(Field{"cell_index", "counted from 0", 0}, self.cell_index);
    f(Field{"pair", "counted from 1 in the cell", 1}, self.pair);
    f(Field{"a_cpu_s", "processor time of A's threads while B stepped", 0.0}, self.a_cpu_s);
    f(Field{"a_wall_s", "duration of B's steps, as far as they were watched", 0.0}, self.a_wall_s);
    f(Field{"b_cpu_s", "processor time of B's threads while A stepped", 0.0}, self.b_cpu_s);
    f(Field{"b_wall_s", "duration of A's steps, as far as they were watched", 0.0}, self.b_wall_s);
    f(Field{"order_log_effect", "how much longer a step takes after the other side's, ln, of B less A; null: unknown",
            -kMost, kMost},
      self.order_log_effect);
  }
};

// CellVerdict of one metric, or ('') of the cell as a whole.
struct StoredVerdict {
  std::string cell;
  std::int64_t cell_index = 0;
  std::string metric;
  std::string verdict;
  std::string reason;
  std::string detail;
  std::optional<double> margin_fraction;
  std::optional<double> a_median;
  std::optional<double> b_median;
  std::optional<double> ratio;
  std::optional<double> ratio_low;
  std::optional<double> ratio_high;
  std::optional<double> p;
  std::optional<double> detectable_fraction;
  std::int64_t pairs_used = 0;
  std::int64_t pairs_discarded = 0;
  std::optional<std::int64_t> pairs_needed;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    constexpr double kMost = std::numeric_limits<double>::max();
    f(Field{"cell", "label of the cell"}, self.cell);
    f(Field{"cell_index", "counted from 0", 0}, self.cell_index);
    f(Field{"metric", "name of the metric; empty: the cell as a whole"}, self.metric);
    f(Field{"verdict", "the verdict"}, self.verdict);
    f(Field{"reason", "its reason code"}, self.reason);
    f(Field{"detail", "in a sentence"}, self.detail);
    f(Field{"margin_fraction", "smaller differences do not matter", -kMost, kMost}, self.margin_fraction);
    f(Field{"a_median", "median of A", -kMost, kMost}, self.a_median);
    f(Field{"b_median", "median of B", -kMost, kMost}, self.b_median);
    f(Field{"ratio", "B / A", -kMost, kMost}, self.ratio);
    f(Field{"ratio_low", "lower end of its interval", -kMost, kMost}, self.ratio_low);
    f(Field{"ratio_high", "upper end of its interval", -kMost, kMost}, self.ratio_high);
    f(Field{"p", "p value", 0.0, 1.0}, self.p);
    f(Field{"detectable_fraction", "smallest difference that could be seen", -kMost, kMost}, self.detectable_fraction);
    f(Field{"pairs_used", "pairs that counted", 0}, self.pairs_used);
    f(Field{"pairs_discarded", "pairs that did not", 0}, self.pairs_discarded);
    f(Field{"pairs_needed", "pairs that would find the margin; null: these do", 0}, self.pairs_needed);
  }
};

struct StoredComparison {
  std::string comparison_id;
  AbPurpose purpose = AbPurpose::compare;
  std::string matrix;
  std::string settings;
  std::int64_t seed = 0;  // the 64 bits of the seed
  std::string started_utc;
  std::string finished_utc;  // empty: it was interrupted, or is still running
  std::vector<StoredSide> sides = {};
  std::vector<PairOfAttempts> pairs = {};
  std::vector<StoredTurns> turns = {};
  std::vector<StoredTurnCheck> turn_checks = {};
  std::vector<StoredVerdict> verdicts = {};
  std::int64_t key = 0;  // key in the store from which it was read; not part of the record

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"comparison_id", "its name, and that of the sweep of its attempts"}, self.comparison_id);
    f(Field{"purpose", "its purpose"}, self.purpose);
    f(Field{"matrix", "name of the matrix"}, self.matrix);
    f(Field{"settings", "settings that must be equal for it to be continued"}, self.settings);
    f(Field{"seed", "seed of the order within pairs"}, self.seed);
    f(Field{"started_utc", "when it began"}, self.started_utc);
    f(Field{"finished_utc", "when it ended"}.null_at_default(), self.finished_utc);
    f(Field{"sides", "A and B"}, self.sides);
    f(Field{"pairs", "pairs of runs"}, self.pairs);
    f(Field{"turns", "times of pairs whose runs took turns"}, self.turns);
    f(Field{"turn_checks", "whether their runs worked in each other's steps"}.omitted_at_default(), self.turn_checks);
    f(Field{"verdicts", "its results"}, self.verdicts);
  }
};

// A comparison that is running.
struct ComparisonRecord {
  std::int64_t key = 0;       // assigned by the store
  std::string comparison_id;  // also the sweep id of its attempts
  AbPurpose purpose = AbPurpose::compare;
  std::string matrix;
  std::string settings;  // cells, rule and sides: they must be equal for a comparison to be continued
  std::uint64_t seed = 0;
  StoredSide a{.side = Side::a};
  StoredSide b{.side = Side::b};
};

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::AbPurpose> {
  using P = perfbench::harness::AbPurpose;
  static constexpr std::array kNames{std::pair{P::compare, "compare"}, std::pair{P::bisect, "bisect"},
                                     std::pair{P::confirm, "confirm"}, std::pair{P::creep, "anchor"},
                                     std::pair{P::selftest, "selftest"}};
};

template <>
struct perfbench::spec::EnumNames<perfbench::harness::SideKind> {
  using K = perfbench::harness::SideKind;
  static constexpr std::array kNames{
      std::pair{K::current, "current"},        std::pair{K::settings, "settings"}, std::pair{K::binary, "binary"},
      std::pair{K::revision, "revision"},      std::pair{K::fault, "fault"},       std::pair{K::command, "command"},
      std::pair{K::environment, "environment"}};
};
