// The names that enumerations have in files.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace perfbench::spec {

// Specialised for each enumeration that appears in a file: `static constexpr std::array kNames{pair{value, name},
// ...}`.
template <class E>
struct EnumNames;

template <class E>
constexpr std::string_view enum_name(E value) {
  for (const auto& [v, name] : EnumNames<E>::kNames) {
    if (v == value) return name;
  }
  return "?";
}

template <class E>
constexpr std::optional<E> enum_value(std::string_view name) {
  for (const auto& [v, n] : EnumNames<E>::kNames) {
    if (n == name) return v;
  }
  return std::nullopt;
}

}  // namespace perfbench::spec
