// Circumstances that would spoil a measurement on this machine. Decides from facts and measures nothing.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "harness/records/machine_facts.h"
#include "workloads/spec/fields.h"

namespace perfbench::harness {

// warn: numbers will be noisier, or not those of the best configuration. fail: runs of this kind will not work.
enum class ObservationState { ok, warn, fail };

struct Observation {
  std::string subject;
  ObservationState state = ObservationState::ok;
  std::string found;
  std::string spoils;  // the effect on a measurement; empty if ok
  std::string fix;     // the remedy; empty if ok, or if there is none

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"subject", "what was checked"}, self.subject);
    f(Field{"state", "ok, warn or fail"}, self.state);
    f(Field{"found", "what was found"}, self.found);
    f(Field{"spoils", "effect on a measurement"}, self.spoils);
    f(Field{"fix", "remedy"}, self.fix);
  }
};

std::vector<Observation> diagnose(const MachineFacts& facts);

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::ObservationState> {
  using State = perfbench::harness::ObservationState;
  static constexpr std::array kNames{std::pair{State::ok, "ok"}, std::pair{State::warn, "warn"},
                                     std::pair{State::fail, "fail"}};
};
