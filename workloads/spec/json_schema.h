// A field list as a JSON Schema, so that other programs can check what perfbench writes without a second list. Include
// in .cpp files only: it pulls in the JSON library.
//
// A schema accepts what fields_from_json accepts with Missing::is_error: the same keys and no others, types, words and
// bounds. Two checks are left to the reader, because a schema cannot express them: that 1.0 is not a whole number, and
// rules between fields (validate.h).
#pragma once

#include "workloads/spec/field_table.h"
#include "workloads/spec/parse_json.h"

namespace perfbench::spec {

inline constexpr const char* kJsonSchemaDialect = "https://json-schema.org/draft/2020-12/schema";

// The schema of one record: an object with every field, its help as description, and the meaning of an absent key as
// default.
Json fields_schema(const FieldTable& table);

template <class T>
Json fields_schema() {
  return fields_schema(field_table<T>());
}

}  // namespace perfbench::spec
