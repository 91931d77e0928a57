// Whether the two runs of a pair can be compared at all. A pure function of observations other than the result. Which
// side was slower plays no part, so leaving pairs out does not bias a verdict.
#pragma once

#include <optional>
#include <string>

#include "harness/records/executed_pair.h"

namespace perfbench::harness {

struct SpoilRule {
  // Limit for the spread of the noise probe within a run. It is much larger than the limit for a single run
  // (most_probe_spread): noise that both sides of a pair share widens the interval, and the random order keeps it from
  // favouring a side. A neighbour on the other hyperthread doubles the probe.
  double most_probe_spread = 0.5;
  double most_probe_shift =
      0.10;                  // between the medians of the two runs' probes; beyond it the machine ran at another speed
  double most_steal = 0.02;  // share of the cores' time, by the hypervisor
  double most_foreign = 0.10;  // share of the cores' time, by other processes
};

struct Spoiled {
  Discard discard = Discard::none;  // none: the pair counts
  std::string why;                  // "A crashed: signal 11", "B: other processes used 22 % of the cores"
};

// The side whose run alone was spoiled by circumstances, by the same rule; if the probes show two speeds, the slower
// side. nullopt for a pair that counts, that failed, or of which both runs were spoiled.
std::optional<Side> spoiled_alone(const ExecutedPair& pair, const SpoilRule& rule);

// The first reason found, failures before circumstances. Circumstances do not spoil a pair whose runs took turns,
// because they were the same for both.
Spoiled why_discarded(const ExecutedPair& pair, const SpoilRule& rule);

}  // namespace perfbench::harness
