// A YAML file as JSON, with the place of every value. All readers of files that users write start from it.
//
// It is stricter than YAML, so that a slip is found where it occurs. There is one document. Keys are words and appear
// once. There are no merge keys (`<<`) and no tags. Scalars are typed by the core schema only: `1e-5` is a number,
// `true` and `false` are the only truth values (`yes` and `on` are text), `010` is text, `.nan` and `.inf` are refused.
// Anchors and aliases work.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/system/input_error.h"

namespace perfbench::spec {
class SpecError;
}

namespace perfbench::harness {

class YamlDocument {
 public:
  // `kind` opens every message ("matrix", "model"); `file` is the name shown in it. Throws InputError.
  static YamlDocument parse(std::string_view text, std::string kind, std::string file);
  static YamlDocument load(const std::filesystem::path& file, std::string kind);

  YamlDocument(YamlDocument&&) noexcept;
  YamlDocument& operator=(YamlDocument&&) noexcept;
  ~YamlDocument();

  const std::string& file() const;
  const nlohmann::json& root() const;

  // The keys of the mapping at an RFC 6901 pointer ("" is the root), in the order of the file; JSON itself sorts them.
  // Empty if there is no mapping.
  const std::vector<std::string>& keys(std::string_view pointer) const;

  // The position of an entry: the key of a mapping's entry, or the item of a list. For a pointer that the file does not
  // have (a missing key), the position of its nearest parent. Values from an alias have the position of the alias.
  SourcePosition position(std::string_view pointer) const;

  // "[kind] file:line:column message", to be thrown by the caller.
  InputError error(std::string_view pointer, const std::string& message) const;
  // `root` is the pointer of the value that was being read; the error's own pointer is relative to it.
  InputError error(const spec::SpecError& error, const std::string& root = "") const;

 private:
  struct Content;
  explicit YamlDocument(std::unique_ptr<Content> content);
  std::unique_ptr<Content> content_;
};

}  // namespace perfbench::harness
