// RunSpec to and from a JSON value. Include in .cpp files only: it pulls in the JSON library.
#pragma once

#include <vector>

#include "workloads/spec/fields_json.h"

namespace perfbench::spec {

struct FieldDifference;
struct RunSpec;

// The place of a dotted field: "mesh.ici.dp" -> /mesh/ici/dp. No part of a name has a dot.
Json::json_pointer pointer_of(const std::string& field);

Json run_to_json(const RunSpec& run, Written written = Written::canonical);

// As difference() of run_spec_json.h, of runs written whole. It is for one run that is compared with many.
std::vector<FieldDifference> difference(const Json& left, const Json& right);

// A whole, resolved run that may contradict itself. Throws SpecError as fields_from_json does.
RunSpec run_from_json(const Json& json);

}  // namespace perfbench::spec
