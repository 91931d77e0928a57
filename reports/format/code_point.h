// UTF-8, a character at a time.
#pragma once

#include <cstddef>
#include <string_view>

namespace perfbench::reports {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;  // 0: no character of valid UTF-8 begins there
};

// Of the character that begins at `at`, which is inside the text. Surrogates and overlong forms are not UTF-8.
CodePoint code_point_at(std::string_view text, std::size_t at);

inline constexpr const char* kReplacement = "\xEF\xBF\xBD";  // U+FFFD, stands for what cannot be shown

}  // namespace perfbench::reports
