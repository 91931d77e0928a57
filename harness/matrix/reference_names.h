// Names that people bring from other systems (MaxText, Pax, Hugging Face, Megatron-LM, torchtitan, DeepSpeed, nanoGPT
// and their like) for things that have another name here, or that are not here. A matrix with such a key is told which.
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
