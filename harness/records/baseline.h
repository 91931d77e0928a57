// An entry of the ledger of baselines.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "workloads/spec/fields.h"

namespace perfbench::harness {

enum class BaselineKind { anchor, rolling, published, other_binary };

// A number from outside the store.
struct BaselineValue {
  std::string subject;  // a run id, or the label of a cell
  std::string metric;
  double value = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    constexpr double kMost = std::numeric_limits<double>::max();
    f(Field{"subject", "a run id, or the label of a cell"}, self.subject);
    f(Field{"metric", "name of the metric"}, self.metric);
    f(Field{"value", "the number", -kMost, kMost}, self.value);
  }
};

struct Baseline {
  std::int64_t key = 0;  // assigned by the ledger
  std::string name;
  BaselineKind kind = BaselineKind::anchor;
  std::string author;
  std::string reason;
  std::string created_utc;
  std::string expires_utc = {};  // empty: never
  std::string source;            // the origin of the values: "sweep ...", a file, "published:..."
  std::vector<std::int64_t> attempt_keys = {};
  std::vector<BaselineValue> values = {};  // one value for each process run, so a subject and metric may have several

  // The fields that have the same meaning in every database.
  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"name", "its name"}, self.name);
    f(Field{"kind", "what it is"}, self.kind);
    f(Field{"author", "who set it"}, self.author);
    f(Field{"reason", "why"}, self.reason);
    f(Field{"created_utc", "when it was set"}, self.created_utc);
    f(Field{"expires_utc", "until when it is in force; empty: for ever"}.null_at_default(), self.expires_utc);
    f(Field{"source", "origin of the values"}, self.source);
    f(Field{"values", "numbers from outside"}, self.values);
  }
};

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::BaselineKind> {
  using Kind = perfbench::harness::BaselineKind;
  static constexpr std::array kNames{std::pair{Kind::anchor, "anchor"}, std::pair{Kind::rolling, "rolling"},
                                     std::pair{Kind::published, "published"},
                                     std::pair{Kind::other_binary, "other_binary"}};
};
