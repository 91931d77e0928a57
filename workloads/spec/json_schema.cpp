#include "workloads/spec/json_schema.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "workloads/spec/fields_json.h"

namespace perfbench::spec {
namespace {

// A field without bounds also accepts the words for NaN and the infinities, and null, which older versions wrote for
// them.
Json number_schema(const Field& field) {
  Json schema{{"type", "number"}};
  const bool below = std::isfinite(field.minimum);
  const bool above = std::isfinite(field.maximum);
  if (below) schema["minimum"] = field.minimum;
  if (above) schema["maximum"] = field.maximum;
  if (below || above) return schema;
  Json words = Json::array({nullptr});
  for (const auto& entry : kNotFinite) words.push_back(entry.second);
  return {{"anyOf", Json::array({schema, {{"enum", words}}})}};
}

// A missing bound becomes that of 64-bit integers.
Json whole_number_schema(const Field& field) {
  using Limits = std::numeric_limits<std::int64_t>;
  const auto bound = [](double value, std::int64_t without) {
    return std::isfinite(value) ? static_cast<std::int64_t>(value) : without;
  };
  return {{"type", "integer"},
          {"minimum", bound(field.minimum, Limits::min())},
          {"maximum", bound(field.maximum, Limits::max())}};
}

// The bounds of a list or a mapping apply to its entries.
Json value_schema(const Field& field, const MemberType& type) {
  switch (type.kind) {
    case MemberKind::boolean:
      return {{"type", "boolean"}};
    case MemberKind::integer:
      return whole_number_schema(field);
    case MemberKind::number:
      return number_schema(field);
    case MemberKind::text:
      return {{"type", "string"}};
    case MemberKind::word: {
      Json words = Json::array();
      for (const auto& word : type.words) words.push_back(word.name);
      return {{"enum", words}};
    }
    case MemberKind::record:
      return fields_schema(type.fields());
    case MemberKind::list:
      return {{"type", "array"}, {"items", value_schema(field, *type.held)}};
    case MemberKind::mapping:
      return {{"type", "object"}, {"additionalProperties", value_schema(field, *type.held)}};
    case MemberKind::optional:
      break;
  }
  return {{"anyOf", Json::array({value_schema(field, *type.held), {{"type", "null"}}})}};
}

}  // namespace

Json fields_schema(const FieldTable& table) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const auto& entry : table.fields) {
    Json schema = value_schema(entry.field, *entry.type);
    schema["description"] = entry.field.help;
    if (entry.field.presence == Presence::omitted_at_default) {
      schema["default"] = value_to_json(*entry.type, table.default_of(entry), Written::whole);
    } else {
      required.push_back(entry.field.name);
    }
    properties.emplace(std::string(entry.field.name), std::move(schema));
  }
  return {{"type", "object"}, {"properties", properties}, {"required", required}, {"additionalProperties", false}};
}

}  // namespace perfbench::spec
