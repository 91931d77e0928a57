// Text that XML can hold.
#pragma once

#include <string>

namespace perfbench::reports {

// XML 1.0, production 2 (Char): of what shown() and shown_lines() leave, U+FFFE and U+FFFF are no characters. They are
// replaced, as what is no UTF-8.
std::string xml_text(const std::string& text);

}  // namespace perfbench::reports
