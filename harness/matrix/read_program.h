// The `program` section of a matrix. Include this in .cpp files only, because it needs the JSON library.
#pragma once

#include <string>

#include "harness/matrix/matrix_parts.h"

namespace perfbench::harness {

class YamlDocument;

// Throws InputError, at the place of the mistake: an unknown key or reader, an invalid regular expression, a brace that
// does not begin a name.
ProgramPart read_program(const YamlDocument& document, const std::string& pointer, const spec::Json& json);

}  // namespace perfbench::harness
