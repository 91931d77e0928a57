// Distinguishes the file names of this process from those of all other processes that write to the same place, on this
// machine or another.
#pragma once

#include <cstdint>
#include <cstdio>
#include <random>
#include <string>

namespace perfbench::spec {

// Ten hexadecimal digits, drawn once. It is not the process id: in containers every process has number 1, and two
// machines that share a folder or a database use the same numbers.
inline const std::string& process_token() {
  static const std::string token = [] {
    std::random_device draw;
    char digits[11];
    std::snprintf(digits, sizeof digits, "%08lx%02lx", static_cast<unsigned long>(draw() & 0xffffffffU),
                  static_cast<unsigned long>(draw() & 0xffU));
    return std::string(digits);
  }();
  return token;
}

}  // namespace perfbench::spec
