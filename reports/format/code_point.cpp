#include "reports/format/code_point.h"

#include <array>

namespace perfbench::reports {
namespace {

struct Lead {
  unsigned char mask, value;
  std::size_t bytes;
  char32_t smallest;  // a longer form of a smaller code point is not UTF-8
};
constexpr std::array kLeads{Lead{0x80, 0x00, 1, 0}, Lead{0xE0, 0xC0, 2, 0x80}, Lead{0xF0, 0xE0, 3, 0x800},
                            Lead{0xF8, 0xF0, 4, 0x10000}};

bool is_code_point(char32_t c) {
  return c < 0xD800 || (c > 0xDFFF && c <= 0x10FFFF);
}

}  // namespace

CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (const auto& lead : kLeads) {
    if ((byte(at) & lead.mask) != lead.value) continue;
    if (at + lead.bytes > text.size()) return {};
    char32_t value = byte(at) & static_cast<unsigned char>(~lead.mask);
    for (std::size_t i = 1; i < lead.bytes; ++i) {
      if ((byte(at + i) & 0xC0U) != 0x80U) return {};
      value = value << 6 | (byte(at + i) & 0x3FU);
    }
    if (value < lead.smallest || !is_code_point(value)) return {};
    return {.value = value, .bytes = lead.bytes};
  }
  return {};
}

}  // namespace perfbench::reports
