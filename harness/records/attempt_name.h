// The name of an attempt, valid in every database; its key is valid in only one.
#pragma once

#include <cstdint>
#include <string>

#include "harness/evidence/attempt.h"
#include "workloads/spec/fields.h"

namespace perfbench::harness {

struct AttemptName {
  std::string run_id;
  std::string sweep_id;
  std::int64_t attempt = 1;
  std::string started_utc;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"run_id", "its run"}, self.run_id);
    f(Field{"sweep_id", "its sweep"}, self.sweep_id);
    f(Field{"attempt", "counted from 1", 1}, self.attempt);
    f(Field{"started_utc", "when it began"}, self.started_utc);
  }
};

AttemptName name_of(const AttemptRecord& record);
// "run_id 0123..., sweep_id s, attempt 1, started_utc 2026-01-31T12:00:00Z"
std::string to_text(const AttemptName& name);

}  // namespace perfbench::harness
