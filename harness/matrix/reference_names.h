// What MaxText, Pax, AXLearn, torchprime and seqax call the things that this project has another name for, or does not
// have: a matrix that is written from one of their recipes is told which, key by key.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace perfbench::harness {

struct ReferenceName {
  std::string_view word;    // a flag, configuration key or environment variable; `prefix*` for all that begin so
  std::string_view system;  // whose
  std::string_view key;     // of a run (run_keys.h); empty: there is none
  std::string_view note;    // how it is meant here, or why there is none
};

std::span<const ReferenceName> reference_names();

// ": MaxText's name for embedding, one_hot for true", or ": torchprime's; " and the reason; "" for a word of nobody's.
std::string reference_hint(std::string_view word);

}  // namespace perfbench::harness
