// The one declaration of a struct's fields. A struct lists its members once:
//
//   template <class Self, class F> static void fields(Self& self, F&& f) {
//     f(Field{"layers", "decoder layers", 1}, self.layers);
//   }
//
// and parsing, validation of ranges, canonical JSON, hashing, difference and printing all walk that list
// (fields_json.h). There is no second list to keep in step.
#pragma once

#include <limits>
#include <string_view>

#include "workloads/spec/enum_names.h"

namespace perfbench::spec {

// Whether a file must contain the key. omitted_at_default is for every field added after version 1 of a format:
// canonical JSON has the key only if its value differs from the struct's own default, and a file without it has that
// default. So files written before the field existed are still complete, and the hash of a run that does not use the
// field (its id) stays the same.
enum class Presence { optional, required, omitted_at_default };

struct Field {
  std::string_view name;
  std::string_view help;
  double minimum = -std::numeric_limits<double>::infinity();  // inclusive, for numbers only
  double maximum = std::numeric_limits<double>::infinity();   // inclusive, for numbers only
  Presence presence = Presence::optional;
  bool counted = true;          // in a run: whether the counts of a dry walk (dry_report.h) may depend on it
  bool absent_is_null = false;  // for a number in a record: a table (harness/store/columns.h) stores 0 as NULL

  // `f(Field{"window", "...", 0}.omitted_at_default(), self.window);`
  constexpr Field omitted_at_default() const {
    Field changed = *this;
    changed.presence = Presence::omitted_at_default;
    return changed;
  }

  // `f(Field{"seed", "...", 0}.uncounted(), self.seed);` A test checks that dry walks do not depend on it.
  constexpr Field uncounted() const {
    Field changed = *this;
    changed.counted = false;
    return changed;
  }

  // For a value that some records do not have and for which 0 means absent: sums and means in SQL leave it out.
  constexpr Field null_at_default() const {
    Field changed = *this;
    changed.absent_is_null = true;
    return changed;
  }
};

struct NoVisitor {
  template <class T>
  void operator()(const Field&, T&) {}
};

template <class T>
concept HasFields = requires(T& t, NoVisitor v) {
  T::fields(t, v);
};

}  // namespace perfbench::spec
