// Whether the two runs of a pair can be held against each other at all. A pure function of what was seen beside them;
// which side was slower plays no part, so leaving pairs out by it does not bend a verdict.
#pragma once

#include <optional>
#include <string>

#include "harness/records/executed_pair.h"

namespace perfbench::harness {

struct SpoilRule {
  // Of the noise probe within a run. Far more than what makes a single run suspicious (most_probe_spread): noise that
  // both sides of a pair have widens the interval, and the random order keeps it from taking sides. A neighbour on the
  // other hyperthread doubles the probe.
  double most_probe_spread = 0.5;
  double most_probe_shift = 0.10;  // between the medians of the two runs' probes: the machine ran at another speed
  double most_steal = 0.02;        // of the cores' time, by the hypervisor
  double most_foreign = 0.10;      // of the cores' time, by other processes
};

struct Spoiled {
  Discard discard = Discard::none;  // none: nothing spoils the pair
  std::string why;                  // "A crashed: signal 11", "B: other processes used 22 % of the cores"
};

// The one side whose run alone circumstances spoiled, by the same rule: of two speeds the slower. Nothing of a pair
// that counts, that failed, or that both runs spoiled.
std::optional<Side> spoiled_alone(const ExecutedPair& pair, const SpoilRule& rule);

// The first reason found, failures before circumstances. Circumstances spoil no pair whose runs took turns: they were
// the same for both.
Spoiled why_discarded(const ExecutedPair& pair, const SpoilRule& rule);

}  // namespace perfbench::harness
