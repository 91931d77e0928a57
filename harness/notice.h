// What is said while a command works, beside its result: progress and notes. Whether anybody reads it must not matter
// to the work: what cannot be written (a full disk, a pager that was quit, a closed stream) is dropped.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace perfbench::harness {

// Not fmt::print(out, ...), which throws when nothing can be written. The stream remembers that it failed.
inline void show_on(std::FILE* out, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
}

// A line on standard error.
template <class... Arguments>
void notice(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  show_on(stderr, fmt::format(text, std::forward<Arguments>(arguments)...) + "\n");
}

}  // namespace perfbench::harness
