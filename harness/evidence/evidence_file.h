// One document of a run directory, as a crash, a full disk or a hostile engine may have left it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "workloads/spec/spec_error.h"

namespace perfbench::harness {

// The file is there and holds nothing that could be understood: cut off, empty, no regular file, too large. The message
// names it without its folder, so that it is the same wherever the directory lies: "env.json is empty".
class DamagedFile : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The text of a document; nothing where there is none. Throws DamagedFile.
std::optional<std::string> document_text(const std::filesystem::path& file);

[[noreturn]] void refuse_damaged(const std::filesystem::path& file, const spec::NotJson& error);

// What `parse` makes of the text. A text that is JSON and means something else is no damage: the SpecError stays one.
template <class Parse>
std::optional<std::invoke_result_t<Parse, const std::string&>> read_document(const std::filesystem::path& file,
                                                                             const Parse& parse) {
  const auto text = document_text(file);
  if (!text) return std::nullopt;
  try {
    return parse(*text);
  } catch (const spec::NotJson& e) {
    refuse_damaged(file, e);
  }
}

// The files of a run directory (attempt.h) as JSON Schemas, draft 2020-12, each made from the field list by which its
// file is written and read. Include in .cpp files only: it pulls in the JSON library.
struct FileSchema {
  std::string name;   // by which it is asked for: "steps"
  std::string file;   // "steps.rank<R>.jsonl": the schema is of one line
  std::string holds;  // "one rank's steps, a line each"
  nlohmann::json schema;
};

// In the order in which a run leaves them.
std::vector<FileSchema> file_schemas();

}  // namespace perfbench::harness
