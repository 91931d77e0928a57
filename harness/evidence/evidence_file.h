// A document of a run directory, which a crash, a full disk or a hostile engine may have damaged.
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

// The file exists but has no readable content: it is cut off, empty, too large or not a regular file. The message names
// it without its folder, so that it does not depend on the place of the directory: "env.json is empty".
class DamagedFile : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The text of a document; nullopt if there is none. Throws DamagedFile.
std::optional<std::string> document_text(const std::filesystem::path& file);

[[noreturn]] void refuse_damaged(const std::filesystem::path& file, const spec::NotJson& error);

// Parses the text. A text that is valid JSON with the wrong content is not damage: its SpecError is passed on.
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

// The files of a run directory (attempt.h) as JSON Schemas, draft 2020-12. Each is made from the field list with which
// its file is written and read. Include this in .cpp files only, because it needs the JSON library.
struct FileSchema {
  std::string name;   // the name to ask for: "steps"
  std::string file;   // "steps.rank<R>.jsonl": the schema describes one line
  std::string holds;  // "one rank's steps, a line each"
  nlohmann::json schema;
};

// In the order in which a run writes them.
std::vector<FileSchema> file_schemas();

}  // namespace perfbench::harness
