// Documents that a tokeniser has already made into ids: JSON lines {"prompt": [ids], "completion": [ids]}.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace perfbench::harness {

struct TokenDocument {
  std::vector<std::int32_t> prompt;
  std::vector<std::int32_t> completion;
};

// In their order; empty lines are none. Ids are from 0 to 2147483647, at least one of each. Throws InputError, with
// file:line.
std::vector<TokenDocument> read_token_lines(const std::filesystem::path& file);

}  // namespace perfbench::harness
