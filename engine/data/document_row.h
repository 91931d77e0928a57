// A prompt and its completion as one row of a batch. The real tokens come first, so causal attention hides the padding
// from all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/core/no_target.h"
#include "engine/data/token_source.h"
#include "workloads/datasets/instruction_tokens.h"

namespace perfbench::engine {

inline constexpr std::int32_t kPadding = 0;

inline void add(TokenCounts& to, const TokenCounts& counts) {
  to.targets += counts.targets;
  to.padding += counts.padding;
}

// Only the tokens of the completion are targets. A document without ids becomes a row of padding.
inline TokenCounts fill_row(const spec::InstructionTokens::Document& document, std::span<std::int32_t> tokens,
                            std::span<std::int32_t> targets) {
  TokenCounts counts;
  const auto& ids = document.ids;
  const auto prompt = static_cast<std::size_t>(document.prompt_tokens);
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const bool padding = t >= ids.size();
    const bool completes = t + 1 >= prompt && t + 1 < ids.size();
    tokens[t] = padding ? kPadding : ids[t];
    targets[t] = completes ? ids[t + 1] : kNoTarget;
    counts.padding += padding ? 1 : 0;
    counts.targets += completes ? 1 : 0;
  }
  return counts;
}

}  // namespace perfbench::engine
