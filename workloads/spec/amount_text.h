// Durations and sizes as people write them: 90s, 1h30m, 512MiB, 4GB. Options and matrices read both here.
#pragma once

#include <optional>
#include <string_view>

namespace perfbench::spec {

inline constexpr std::string_view kDurationExamples = "90s, 15m, 1h30m or 2d";
inline constexpr std::string_view kSizeExamples = "512MiB, 4GB or 1.5TiB";

// Seconds. The units are ms, s, m or min, h, d and w; several parts are added up. A number without a unit counts
// `bare_s` seconds, and is refused if that is empty. Returns nothing for any other text, and for a negative or infinite
// duration.
std::optional<double> parse_duration_s(std::string_view text, std::optional<double> bare_s);

// Whole bytes. The units are B, kB, MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB (powers of 1024), in upper or
// lower case. A number without a unit counts `bare_bytes` bytes, and is refused if that is empty. Returns nothing for
// any other text, and for a negative or infinite size.
std::optional<double> parse_size_bytes(std::string_view text, std::optional<double> bare_bytes);

}  // namespace perfbench::spec
