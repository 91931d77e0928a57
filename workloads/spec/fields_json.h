// Walks a field list to and from JSON. Include in .cpp files only: it pulls in the JSON library.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "workloads/spec/fields.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::spec {

// What an absent key means: a person's file takes the default, a resolved file must be whole.
enum class Missing { takes_default, is_error };

// Whether a field that is Presence::omitted_at_default is written at its default, too. counted: canonical, without the
// fields on which no count of a dry walk depends.
enum class Written { canonical, whole, counted };

// Short text of a value for an error message.
inline std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr std::size_t kLongest = 60;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

namespace detail {

// Escapes one reference token of a JSON pointer (RFC 6901).
inline std::string pointer_token(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

// Where a value stands. Its JSON pointer is made for an error only: a run has a hundred fields, read many thousand
// times.
struct Place {
  const Place* parent = nullptr;  // null: `key` is the pointer of the whole
  std::string_view key;

  std::string text() const { return parent == nullptr ? std::string(key) : parent->text() + "/" + pointer_token(key); }
};

inline void check_range(const Field& field, double value, const Place& place) {
  if (value >= field.minimum && value <= field.maximum) return;
  std::string wanted;
  if (std::isfinite(field.minimum)) wanted += "at least " + shown(Json(field.minimum));
  if (std::isfinite(field.maximum)) {
    wanted += (wanted.empty() ? "" : " and ") + std::string("at most ") + shown(Json(field.maximum));
  }
  throw SpecError(place.text(),
                  "'" + std::string(field.name) + "' is " + shown(Json(value)) + ", it must be " + wanted);
}

// JSON has no number for them. A word keeps apart what null would make one.
template <class T>
inline constexpr std::array kNotFinite{std::pair{std::numeric_limits<T>::quiet_NaN(), "NaN"},
                                       std::pair{std::numeric_limits<T>::infinity(), "Infinity"},
                                       std::pair{-std::numeric_limits<T>::infinity(), "-Infinity"}};

template <std::floating_point T>
Json number_to_json(T value) {
  for (const auto& [number, word] : kNotFinite<T>) {
    if (value == number || (std::isnan(value) && std::isnan(number))) return Json(word);
  }
  return Json(value);
}

// Nothing for what number_to_json does not write for such a number. null was written for all of them before the words.
template <std::floating_point T>
std::optional<T> not_finite(const Json& value) {
  if (value.is_null()) return std::numeric_limits<T>::quiet_NaN();
  for (const auto& [number, word] : kNotFinite<T>) {
    if (value.is_string() && value.get_ref<const std::string&>() == word) return number;
  }
  return std::nullopt;
}

[[noreturn]] inline void wrong_type(const Field& field, const Json& value, const Place& place, const char* wanted) {
  throw SpecError(place.text(), "'" + std::string(field.name) + "' is " + shown(value) + ", it must be " + wanted);
}

template <class E>
[[noreturn]] void unknown_word(const Field& field, const Json& value, const Place& place) {
  std::vector<std::string> names;
  for (const auto& entry : EnumNames<E>::kNames) names.emplace_back(entry.second);
  if (!value.is_string()) wrong_type(field, value, place, ("a word" + suggestion("", names)).c_str());
  const auto word = value.get<std::string>();
  throw SpecError(place.text(), "'" + std::string(field.name) + "' is '" + word + "', which it does not know" +
                                    suggestion(word, names));
}

inline std::vector<std::string> sorted(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  return words;
}

}  // namespace detail

template <class T>
Json fields_to_json(const T& value, Written written = Written::canonical);

template <class T>
Json value_to_json(const T& value, Written written) {
  if constexpr (HasFields<T>) {
    return fields_to_json(value, written);
  } else if constexpr (std::is_enum_v<T>) {
    return Json(std::string(enum_name(value)));
  } else if constexpr (std::floating_point<T>) {
    return detail::number_to_json(value);
  } else {
    return Json(value);
  }
}
template <class T>
Json value_to_json(const std::vector<T>& values, Written written) {
  Json out = Json::array();
  for (const auto& v : values) out.push_back(value_to_json(v, written));
  return out;
}
template <class T>
Json value_to_json(const std::map<std::string, T>& values, Written written) {
  Json out = Json::object();
  for (const auto& [k, v] : values) out[k] = value_to_json(v, written);
  return out;
}

template <class T>
Json value_to_json(const std::optional<T>& value, Written written) {
  return value ? value_to_json(*value, written) : Json();
}

// T() and not T{}: for large aggregates g++ 12 takes members of T{} for uninitialised.
template <class T>
const T& defaults_of() {
  static const T kDefaults = T();
  return kDefaults;
}

// What T() has in the member of `field`. Not what a struct around T may have put there: T alone is the same everywhere.
template <class T, class Member>
Member default_of(const Field& field) {
  Member out{};
  auto look = [&](const Field& other, const auto& member) {
    if constexpr (std::same_as<std::remove_cvref_t<decltype(member)>, Member>) {
      if (other.name == field.name) out = member;
    }
  };
  T::fields(defaults_of<T>(), look);
  return out;
}

// Whether JSON of a T with this member leaves the field out where that is written so. Numbers with a point, and what
// may hold them, are compared as text, in which -0.0 is not 0.0.
template <class T, class Member>
bool is_omitted(const Field& field, const Member& member, Written written) {
  if (field.presence != Presence::omitted_at_default) return false;
  const auto usual = default_of<T, Member>(field);
  if constexpr (std::integral<Member> || std::is_enum_v<Member> || std::same_as<Member, std::string>) {
    return member == usual;
  } else {
    return json_line(value_to_json(member, written)) == json_line(value_to_json(usual, written));
  }
}

template <class T>
Json fields_to_json(const T& value, Written written) {
  Json out = Json::object();
  auto write = [&](const Field& field, const auto& member) {
    if (written == Written::counted && !field.counted) return;
    if (written != Written::whole && is_omitted<T>(field, member, written)) return;
    out.emplace(std::string(field.name), value_to_json(member, written));
  };
  T::fields(value, write);
  return out;
}

template <class T>
std::vector<std::string> field_names() {
  std::vector<std::string> names;
  auto collect = [&names](const Field& field, const auto&) { names.emplace_back(field.name); };
  T::fields(defaults_of<T>(), collect);
  return names;
}

template <class T>
void read_fields(T& out, const Json& json, Missing missing, const detail::Place& place);

template <class T>
void read_value(T& out, const Field& field, const Json& value, Missing missing, const detail::Place& place) {
  if constexpr (HasFields<T>) {
    read_fields(out, value, missing, place);
  } else if constexpr (std::is_enum_v<T>) {
    const auto parsed = value.is_string() ? enum_value<T>(value.get_ref<const std::string&>()) : std::nullopt;
    if (!parsed) detail::unknown_word<T>(field, value, place);
    out = *parsed;
  } else if constexpr (std::same_as<T, bool>) {
    if (!value.is_boolean()) detail::wrong_type(field, value, place, "true or false");
    out = value.get<bool>();
  } else if constexpr (std::integral<T>) {
    if (!value.is_number_integer()) detail::wrong_type(field, value, place, "a whole number");
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
      detail::wrong_type(field, value, place, "below 2^63");
    }
    const auto number = value.get<std::int64_t>();
    detail::check_range(field, static_cast<double>(number), place);
    if (!std::in_range<T>(number)) detail::wrong_type(field, value, place, "a smaller number");
    out = static_cast<T>(number);
  } else if constexpr (std::floating_point<T>) {
    // Only a field without bounds (a loss that diverged) may hold one.
    const bool bounded = std::isfinite(field.minimum) || std::isfinite(field.maximum);
    if (const auto other = detail::not_finite<T>(value); other && !bounded) {
      out = *other;
      return;
    }
    if (!value.is_number()) detail::wrong_type(field, value, place, "a number");
    const auto number = value.get<double>();
    if (!std::isfinite(number)) detail::wrong_type(field, value, place, "a finite number");
    detail::check_range(field, number, place);
    out = static_cast<T>(number);
  } else {
    static_assert(std::same_as<T, std::string>, "no reader for this type of field");
    if (!value.is_string()) detail::wrong_type(field, value, place, "text");
    out = value.get<std::string>();
  }
}
template <class T>
void read_value(std::vector<T>& out, const Field& field, const Json& value, Missing missing,
                const detail::Place& place) {
  if (!value.is_array()) detail::wrong_type(field, value, place, "a list");
  out.clear();
  for (std::size_t i = 0; i < value.size(); ++i) {
    T item{};
    const auto index = std::to_string(i);
    read_value(item, field, value[i], missing, {&place, index});
    out.push_back(std::move(item));
  }
}
template <class T>
void read_value(std::map<std::string, T>& out, const Field& field, const Json& value, Missing missing,
                const detail::Place& place) {
  if (!value.is_object()) detail::wrong_type(field, value, place, "a mapping");
  out.clear();
  for (const auto& [key, entry] : value.items()) read_value(out[key], field, entry, missing, {&place, key});
}
// null is nothing, and so no number that is not finite.
template <class T>
void read_value(std::optional<T>& out, const Field& field, const Json& value, Missing missing,
                const detail::Place& place) {
  out.reset();
  if (!value.is_null()) read_value(out.emplace(), field, value, missing, place);
}

// Throws SpecError on an unknown key, a wrong type, a value out of range, or (Missing::is_error, or a required field)
// an absent key that is not of a field that is omitted at its default.
template <class T>
void read_fields(T& out, const Json& json, Missing missing, const detail::Place& place) {
  if (!json.is_object()) throw SpecError(place.text(), "found " + shown(json) + " where a mapping of keys is needed");
  static const auto known = detail::sorted(field_names<T>());
  for (const auto& [key, value] : json.get_ref<const Json::object_t&>()) {
    if (!std::binary_search(known.begin(), known.end(), key)) {
      throw SpecError(detail::Place{&place, key}.text(),
                      "unknown key '" + key + "'" + suggestion(key, field_names<T>()));
    }
  }
  auto read = [&](const Field& field, auto& member) {
    const auto found = json.find(field.name);
    if (found != json.end()) {
      read_value(member, field, *found, missing, {&place, field.name});
    } else if (field.presence == Presence::omitted_at_default) {
      member = default_of<T, std::remove_cvref_t<decltype(member)>>(field);
    } else if (missing == Missing::is_error || field.presence == Presence::required) {
      throw SpecError(place.text(),
                      "the key '" + std::string(field.name) + "' (" + std::string(field.help) + ") is missing");
    }
  };
  T::fields(out, read);
}

template <class T>
T fields_from_json(const Json& json, Missing missing, const std::string& pointer = "") {
  T out = T();
  read_fields(out, json, missing, {nullptr, pointer});
  return out;
}

}  // namespace perfbench::spec
