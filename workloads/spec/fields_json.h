// Reads and writes a struct with a field list (fields.h) as JSON. Include in .cpp files only: it pulls in the JSON
// library.
#pragma once

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "workloads/spec/field_table.h"
#include "workloads/spec/parse_json.h"

namespace perfbench::spec {

// The meaning of an absent key: a file written by a person takes the default, a resolved file must be whole.
enum class Missing { takes_default, is_error };

// Whether a field that is Presence::omitted_at_default is written at its default too. counted: canonical, without the
// fields that no count of a dry walk depends on.
enum class Written { canonical, whole, counted };

// Short text of a value for an error message.
std::string shown(const Json& value);

// Escapes one reference token of a JSON pointer (RFC 6901).
std::string pointer_token(std::string_view key);

// JSON has no number for these. Distinct words keep apart what null would merge.
inline constexpr std::array kNotFinite{std::pair{std::numeric_limits<double>::quiet_NaN(), "NaN"},
                                       std::pair{std::numeric_limits<double>::infinity(), "Infinity"},
                                       std::pair{-std::numeric_limits<double>::infinity(), "-Infinity"}};

Json record_to_json(const FieldTable& table, const void* record, Written written);

// Converts a value of any member type.
Json value_to_json(const MemberType& type, const void* value, Written written);

// Whether JSON written in that way leaves out the field of `record`. -0.0 differs from 0.0 here, and NaN equals NaN.
bool is_omitted(const FieldTable& table, const TableField& field, const void* record, Written written);

// Throws SpecError on an unknown key, a wrong type, a value out of range, or an absent key (with Missing::is_error, or
// for a required field) whose field is not omitted at its default. `pointer` is that of `json` in its document.
void read_fields(const FieldTable& table, void* record, const Json& json, Missing missing, std::string_view pointer);

// Reads the member of `record` with this dotted name: "mesh.ici.fsdp". Other members stay the same. Throws SpecError as
// read_fields does.
void read_field(const FieldTable& table, void* record, std::string_view name, const Json& json);

template <class T>
Json value_to_json(const T& value, Written written) {
  return value_to_json(member_type<T>(), &value, written);
}

template <class T>
Json fields_to_json(const T& value, Written written = Written::canonical) {
  return value_to_json(member_type<T>(), &value, written);
}

// Throws as read_fields does.
template <class T>
T fields_from_json(const Json& json, Missing missing, std::string_view pointer = "") {
  T out = T();
  read_fields(field_table<T>(), &out, json, missing, pointer);
  return out;
}

}  // namespace perfbench::spec
