// A field list as a JSON Schema: other programs can check what perfbench writes, and there is no second list. Include
// in .cpp files only: it pulls in the JSON library.
//
// A schema takes what fields_from_json takes with Missing::is_error: the same keys and no others, types, words and
// bounds. Left to the reader is what a schema cannot say: that 1.0 is no whole number, and what one field asks of
// another (validate.h).
#pragma once

#include "workloads/spec/field_table.h"
#include "workloads/spec/parse_json.h"

namespace perfbench::spec {

inline constexpr const char* kJsonSchemaDialect = "https://json-schema.org/draft/2020-12/schema";

// The schema of one record: an object with every field, its help as description, and what an absent key means as
// default.
Json fields_schema(const FieldTable& table);

template <class T>
Json fields_schema() {
  return fields_schema(field_table<T>());
}

}  // namespace perfbench::spec
