// The progress of a sweep that is running, for readers of its database.
#pragma once

#include <cstdint>
#include <string>

#include "workloads/spec/fields.h"

namespace perfbench::harness {

struct RunningSweep {
  std::string sweep_id;
  std::string matrix;
  std::string begun_utc;
  std::string sign_utc;          // the newest sign of life: the start of an attempt
  std::string expected_end_utc;  // an estimate; empty: unknown
  // Those of before a sweep was resumed do not count.
  std::int64_t attempts = 0;  // in all
  std::int64_t finished = 0;
  std::string cell;  // label of the running one

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"sweep_id", "id of the sweep"}, self.sweep_id);
    f(Field{"matrix", "name of the matrix"}, self.matrix);
    f(Field{"begun_utc", "when it began"}, self.begun_utc);
    f(Field{"sign_utc", "when its newest attempt began"}, self.sign_utc);
    f(Field{"expected_end_utc", "when it will probably end; empty: unknown"}, self.expected_end_utc);
    f(Field{"attempts", "attempts in all", 0}, self.attempts);
    f(Field{"finished", "finished attempts", 0}, self.finished);
    f(Field{"cell", "label of the running cell"}, self.cell);
  }
};

}  // namespace perfbench::harness
