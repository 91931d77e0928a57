// The colours of a terminal (ECMA-48, select graphic rendition): all the escape sequences that perfbench writes.
#pragma once

#include <array>
#include <string_view>

namespace perfbench::reports {

inline constexpr std::string_view kRed = "\x1b[31m";
inline constexpr std::string_view kGreen = "\x1b[32m";
inline constexpr std::string_view kYellow = "\x1b[33m";
inline constexpr std::string_view kNoColour = "\x1b[0m";
inline constexpr char kColourBegins = '\x1b';
inline constexpr std::array kColours{kRed, kGreen, kYellow, kNoColour};

}  // namespace perfbench::reports
