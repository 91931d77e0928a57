#include "workloads/spec/json_schema.h"

#include <cmath>

namespace perfbench::spec {

Json number_schema(const Field& field) {
  Json schema{{"type", "number"}};
  const bool below = std::isfinite(field.minimum);
  const bool above = std::isfinite(field.maximum);
  if (below) schema["minimum"] = field.minimum;
  if (above) schema["maximum"] = field.maximum;
  if (below || above) return schema;
  Json words = Json::array({nullptr});
  for (const auto& entry : detail::kNotFinite<double>) words.push_back(entry.second);
  return {{"anyOf", Json::array({schema, {{"enum", words}}})}};
}

Json whole_number_schema(const Field& field) {
  using Limits = std::numeric_limits<std::int64_t>;
  const auto bound = [](double value, std::int64_t without) {
    return std::isfinite(value) ? static_cast<std::int64_t>(value) : without;
  };
  return {{"type", "integer"},
          {"minimum", bound(field.minimum, Limits::min())},
          {"maximum", bound(field.maximum, Limits::max())}};
}

}  // namespace perfbench::spec
