// A word of a command that people read, mend and paste.
#pragma once

#include <string>

namespace perfbench::reports {

// As it is where a shell takes it so, else in single quotes.
std::string shell_word(const std::string& word);

}  // namespace perfbench::reports
