#include "harness/app/ab_options.h"

#include <algorithm>

namespace perfbench::harness {
namespace {

// A B that fails in every pair, where A never does, is told from chance by the sixth (failed_side, cell_verdict.cpp):
// after that many are replaced.
constexpr std::size_t kFewestReplacements = 5;

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
