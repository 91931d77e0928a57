// A field list as a JSON Schema: other programs can check what perfbench writes, and there is no second list. Include
// in .cpp files only: it pulls in the JSON library.
//
// A schema takes what fields_from_json takes with Missing::is_error: the same keys and no others, types, words and
// bounds. Left to the reader is what a schema cannot say: that 1.0 is no whole number, and what one field asks of
// another (validate.h).
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "workloads/spec/fields.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/parse_json.h"

namespace perfbench::spec {

inline constexpr const char* kJsonSchemaDialect = "https://json-schema.org/draft/2020-12/schema";

// Of a field without bounds it takes the words for NaN and the infinities, too, and null, which was written for them
// before the words (detail::not_finite).
Json number_schema(const Field& field);

// Bounds that the field does not have are those of 64 bits.
Json whole_number_schema(const Field& field);

// The schema of one T: an object with every field, its help as description, and what an absent key means as default.
template <class T>
Json fields_schema();

// Of a member. Bounds of a list or a mapping are those of its entries.
template <class T>
Json value_schema(const Field& field, const T&) {
  if constexpr (HasFields<T>) {
    return fields_schema<T>();
  } else if constexpr (std::is_enum_v<T>) {
    Json words = Json::array();
    for (const auto& entry : EnumNames<T>::kNames) words.push_back(entry.second);
    return {{"enum", words}};
  } else if constexpr (std::same_as<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::integral<T>) {
    static_assert(std::same_as<T, std::int64_t>, "bounds of another type");
    return whole_number_schema(field);
  } else if constexpr (std::floating_point<T>) {
    return number_schema(field);
  } else {
    static_assert(std::same_as<T, std::string>, "no schema for this type of field");
    return {{"type", "string"}};
  }
}
template <class T>
Json value_schema(const Field& field, const std::vector<T>&) {
  return {{"type", "array"}, {"items", value_schema(field, T())}};
}
template <class T>
Json value_schema(const Field& field, const std::map<std::string, T>&) {
  return {{"type", "object"}, {"additionalProperties", value_schema(field, T())}};
}

template <class T>
Json fields_schema() {
  Json properties = Json::object();
  Json required = Json::array();
  auto describe = [&](const Field& field, const auto& member) {
    Json schema = value_schema(field, member);
    schema["description"] = field.help;
    if (field.presence == Presence::omitted_at_default) {
      schema["default"] = value_to_json(default_of<T, std::remove_cvref_t<decltype(member)>>(field), Written::whole);
    } else {
      required.push_back(field.name);
    }
    properties.emplace(std::string(field.name), std::move(schema));
  };
  T::fields(defaults_of<T>(), describe);
  return {{"type", "object"}, {"properties", properties}, {"required", required}, {"additionalProperties", false}};
}

}  // namespace perfbench::spec
