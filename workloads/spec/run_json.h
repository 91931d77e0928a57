// RunSpec to and from a JSON value. Include in .cpp files only: it pulls in the JSON library.
#pragma once

#include "workloads/spec/fields_json.h"

namespace perfbench::spec {

struct RunSpec;

// The place of a dotted field: "mesh.ici.dp" -> /mesh/ici/dp. No part of a name has a dot.
Json::json_pointer pointer_of(const std::string& field);

Json run_to_json(const RunSpec& run, Written written = Written::canonical);

// A whole, resolved run that may contradict itself. Throws SpecError as fields_from_json does.
RunSpec run_from_json(const Json& json);

}  // namespace perfbench::spec
