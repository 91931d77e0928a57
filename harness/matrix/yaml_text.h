// Writes YAML for other programs. Include this in .cpp files only, because it needs the JSON library.
#pragma once

#include <string>

#include "workloads/spec/fields_json.h"

namespace perfbench::harness {

// One document. All texts are quoted, so that none of them is read as a number or a truth value; a text of several
// lines is a literal block. `document` has whole numbers only.
std::string yaml_text(const spec::Json& document);

}  // namespace perfbench::harness
