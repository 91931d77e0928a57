// A field list (fields.h) as data: where each member is in its struct, and how a value of its type is read and set.
// JSON (fields_json.h), JSON Schema and SQL columns walk a table, so their code is compiled once and not once for every
// struct.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "workloads/spec/fields.h"

namespace perfbench::spec {

struct FieldTable;

enum class MemberKind { boolean, integer, number, text, word, record, list, mapping, optional };

// A word of an enumeration, with its value as a number.
struct EnumWord {
  std::int64_t value = 0;
  std::string_view name;
};

// A value that a list, a mapping or an optional holds. The key is empty except in a mapping.
struct HeldValue {
  std::string_view key;
  const void* value = nullptr;
};

// The type of a member. A `void` below is a value of that type.
// Scalars need no functions: boolean is bool, integer is std::int64_t, number is double, text is std::string.
struct MemberType {
  MemberKind kind = MemberKind::text;
  void (*assign)(void* to, const void* from) = nullptr;

  std::span<const EnumWord> words;
  std::int64_t (*word_value)(const void*) = nullptr;
  void (*set_word)(void*, std::int64_t) = nullptr;

  const FieldTable& (*fields)() = nullptr;  // for a record

  // These are set for a list, a mapping or an optional.
  const MemberType* held = nullptr;
  std::vector<HeldValue> (*values)(const void*) = nullptr;  // valid until the container changes
  void (*clear)(void*) = nullptr;
  void* (*add)(void*, const std::string& key) = nullptr;  // returns the new value, which has its default
};

struct TableField {
  Field field;
  std::size_t offset = 0;  // offset of the member in its struct, bytes
  const MemberType* type = nullptr;

  const void* in(const void* record) const { return static_cast<const std::byte*>(record) + offset; }
  void* in(void* record) const { return static_cast<std::byte*>(record) + offset; }
};

struct FieldTable {
  std::vector<TableField> fields;              // in the order of the list
  std::vector<std::string_view> sorted_names;  // names of the same fields
  const void* defaults = nullptr;              // T(), for a table of T

  // The member of T() for a field of this table. A struct around T may give it another initial value, but T() alone is
  // the same everywhere.
  const void* default_of(const TableField& field) const { return field.in(defaults); }
};

// The word of an enumeration's value, "?" for a value without one.
std::string_view word_of(const MemberType& type, const void* value);
// Sets the value that has this word. Returns false for an unknown word.
bool set_by_word(const MemberType& type, void* value, std::string_view word);

// Fills in sorted_names. Throws std::logic_error if two fields have one name.
void finish_table(FieldTable& table);

template <class T>
const FieldTable& field_table();

namespace detail {

// T() instead of T{}: for large aggregates g++ 12 considers members of T{} uninitialised.
template <class T>
const T& defaults_of() {
  static const T kDefaults = T();
  return kDefaults;
}

template <class E>
constexpr auto words_of() {
  std::array<EnumWord, EnumNames<E>::kNames.size()> words;
  std::size_t i = 0;
  for (const auto& [value, name] : EnumNames<E>::kNames) words[i++] = {static_cast<std::int64_t>(value), name};
  return words;
}
template <class E>
inline constexpr auto kWords = words_of<E>();

template <class T>
constexpr MemberType with_kind(MemberKind kind) {
  MemberType type;
  type.kind = kind;
  type.assign = [](void* to, const void* from) { *static_cast<T*>(to) = *static_cast<const T*>(from); };
  return type;
}

// The type of a scalar, an enumeration or a struct with fields; containers have the specialisations below.
template <class T>
struct TypeOf {
  static constexpr MemberType make() {
    if constexpr (HasFields<T>) {
      auto type = with_kind<T>(MemberKind::record);
      type.fields = &field_table<T>;
      return type;
    } else if constexpr (std::is_enum_v<T>) {
      auto type = with_kind<T>(MemberKind::word);
      type.words = kWords<T>;
      type.word_value = [](const void* value) { return static_cast<std::int64_t>(*static_cast<const T*>(value)); };
      type.set_word = [](void* value, std::int64_t word) { *static_cast<T*>(value) = static_cast<T>(word); };
      return type;
    } else if constexpr (std::same_as<T, bool>) {
      return with_kind<T>(MemberKind::boolean);
    } else if constexpr (std::same_as<T, std::int64_t>) {
      return with_kind<T>(MemberKind::integer);
    } else if constexpr (std::same_as<T, double>) {
      return with_kind<T>(MemberKind::number);
    } else {
      static_assert(std::same_as<T, std::string>, "no field has this type");
      return with_kind<T>(MemberKind::text);
    }
  }
};

template <class T>
inline constexpr MemberType kMemberType = TypeOf<T>::make();

template <class T>
struct TypeOf<std::vector<T>> {
  static constexpr MemberType make() {
    using List = std::vector<T>;
    auto type = with_kind<List>(MemberKind::list);
    type.held = &kMemberType<T>;
    type.values = [](const void* list) {
      std::vector<HeldValue> out;
      for (const auto& value : *static_cast<const List*>(list)) out.push_back({{}, &value});
      return out;
    };
    type.clear = [](void* list) { static_cast<List*>(list)->clear(); };
    type.add = [](void* list, const std::string&) -> void* { return &static_cast<List*>(list)->emplace_back(); };
    return type;
  }
};

template <class T>
struct TypeOf<std::map<std::string, T>> {
  static constexpr MemberType make() {
    using Map = std::map<std::string, T>;
    auto type = with_kind<Map>(MemberKind::mapping);
    type.held = &kMemberType<T>;
    type.values = [](const void* map) {
      std::vector<HeldValue> out;
      for (const auto& [key, value] : *static_cast<const Map*>(map)) out.push_back({key, &value});
      return out;
    };
    type.clear = [](void* map) { static_cast<Map*>(map)->clear(); };
    type.add = [](void* map, const std::string& key) -> void* { return &(*static_cast<Map*>(map))[key]; };
    return type;
  }
};

template <class T>
struct TypeOf<std::optional<T>> {
  static constexpr MemberType make() {
    using Optional = std::optional<T>;
    auto type = with_kind<Optional>(MemberKind::optional);
    type.held = &kMemberType<T>;
    type.values = [](const void* optional) {
      std::vector<HeldValue> out;
      if (const auto& value = *static_cast<const Optional*>(optional)) out.push_back({{}, &*value});
      return out;
    };
    type.clear = [](void* optional) { static_cast<Optional*>(optional)->reset(); };
    type.add = [](void* optional, const std::string&) -> void* { return &static_cast<Optional*>(optional)->emplace(); };
    return type;
  }
};

}  // namespace detail

template <class T>
const MemberType& member_type() {
  return detail::kMemberType<T>;
}

// The table of a struct with fields(), made at its first use.
template <class T>
const FieldTable& field_table() {
  static const FieldTable kTable = [] {
    FieldTable table;
    const T& defaults = detail::defaults_of<T>();
    table.defaults = &defaults;
    auto add = [&](const Field& field, const auto& member) {
      const auto offset = reinterpret_cast<const std::byte*>(&member) - static_cast<const std::byte*>(table.defaults);
      table.fields.push_back(
          {field, static_cast<std::size_t>(offset), &member_type<std::remove_cvref_t<decltype(member)>>()});
    };
    T::fields(defaults, add);
    finish_table(table);
    return table;
  }();
  return kTable;
}

template <class T>
std::vector<std::string> field_names() {
  std::vector<std::string> names;
  for (const auto& entry : field_table<T>().fields) names.emplace_back(entry.field.name);
  return names;
}

}  // namespace perfbench::spec
