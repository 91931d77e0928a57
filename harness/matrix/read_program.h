// The `program` section of a matrix. Include this in .cpp files only, because it needs the JSON library.
#pragma once

#include <string>

#include "harness/matrix/matrix_parts.h"

namespace perfbench::harness {

class YamlDocument;

// The folder for {repo} where the file does not decide it. Absolute paths, or empty.
struct RepositoryChoice {
  std::string given = {};     // by the user: instead of the one of the file
  std::string fallback = {};  // if a template uses {repo} and nothing names a folder
};

// Throws InputError, at the place of the mistake: an unknown key or reader, an invalid regular expression, a brace that
// does not begin a name.
ProgramPart read_program(const YamlDocument& document, const std::string& pointer, const spec::Json& json,
                         const RepositoryChoice& repository = {});

}  // namespace perfbench::harness
