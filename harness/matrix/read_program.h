// The `program` section of a matrix. Include in .cpp files only: it pulls in the JSON library.
#pragma once

#include <string>

#include "harness/matrix/matrix_parts.h"

namespace perfbench::harness {

class YamlDocument;

// Throws InputError, at the place of the mistake: an unknown key or reader, a regular expression that cannot be read, a
// brace that begins no name.
ProgramPart read_program(const YamlDocument& document, const std::string& pointer, const spec::Json& json);

}  // namespace perfbench::harness
