#include "harness/app/ab_options.h"

#include <algorithm>

namespace perfbench::harness {
namespace {

constexpr std::size_t kFewestReplacements = 4;

}  // namespace

AbRule AbOptions::rule() const {
  AbRule out;
  out.metrics = metric_rules(metrics, margins);
  out.looks = looks_up_to(pairs);
  out.most_discarded = most_discarded.value_or(std::max(discards_per_pair * pairs, kFewestReplacements));
  out.spoil = spoil;
  return out;
}

}  // namespace perfbench::harness
