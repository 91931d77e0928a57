// A command line as a list of words. No shell sees it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace perfbench::harness {

// Splits at blanks. Quotes ' and " keep blanks together; a backslash makes the next character literal, except within '.
// There are no variables, globs or pipes. Throws InputError for an unclosed quote.
std::vector<std::string> command_words(std::string_view text);

}  // namespace perfbench::harness
