// Names from other systems (MaxText, Pax, Hugging Face, Megatron-LM, torchtitan, DeepSpeed, nanoGPT and others) for
// things that have another name in perfbench, or do not exist in it. If a matrix uses one of them, the error message
// says so.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace perfbench::harness {

struct ReferenceName {
  std::string_view
      word;  // a flag, configuration key or environment variable; `prefix*` matches all words with that prefix
  std::string_view system;  // the system that uses the word
  std::string_view key;     // the key of a run (run_keys.h); empty: there is none
  std::string_view note;    // how to use the key, or why there is none
};

std::span<const ReferenceName> reference_names();

// ": MaxText's name for embedding, one_hot for true", or ": torchprime's; " and the reason; "" for a word that no known
// system uses.
std::string reference_hint(std::string_view word);

}  // namespace perfbench::harness
