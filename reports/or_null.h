#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

namespace perfbench::reports {

// A number that may be missing, as JSON, which has no infinity either.
inline nlohmann::ordered_json or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

}  // namespace perfbench::reports
