// The files of a run directory (attempt.h) as JSON Schemas, draft 2020-12, each made from the field list by which its
// file is written and read. Include in .cpp files only: it pulls in the JSON library.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace perfbench::harness {

struct FileSchema {
  std::string name;   // by which it is asked for: "steps"
  std::string file;   // "steps.rank<R>.jsonl": the schema is of one line
  std::string holds;  // "one rank's steps, a line each"
  nlohmann::json schema;
};

// In the order in which a run leaves them.
std::vector<FileSchema> file_schemas();

}  // namespace perfbench::harness
