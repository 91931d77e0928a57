// The type of an unquoted YAML scalar, by a subset of YAML 1.2's core schema (chapter 10.3).
#pragma once

#include <yaml-cpp/eventhandler.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/system/input_error.h"

namespace perfbench::harness {

// null (~, null, empty), true/false, a decimal integer without leading zeros, a decimal number, or else text. Throws
// std::invalid_argument, with a message for the user, for numbers that cannot be represented: .nan, .inf, integers
// beyond 64 bits, decimals beyond double.
nlohmann::json core_schema_value(const std::string& plain);

}  // namespace perfbench::harness

namespace YAML {

// Builds the tree and the positions of a YamlDocument from the events of yaml-cpp. Private to yaml_document.cpp.
struct Mark;
}  // namespace YAML

namespace perfbench::harness {

struct YamlTree {
  nlohmann::json root;
  std::unordered_map<std::string, SourcePosition> positions;       // by JSON pointer
  std::unordered_map<std::string, std::vector<std::string>> keys;  // keys of the mapping at a JSON pointer
};

// Limits for hostile or broken files, far above any sensible one.
inline constexpr std::size_t kYamlMaxDepth = 64;
inline constexpr std::size_t kYamlMaxNodes = 500'000;  // an alias counts each time that it is expanded

// A mistake in the file and its position.
struct YamlMistake {
  SourcePosition at;
  std::string message;
};

// Throws YamlMistake.
class YamlBuilder final : public YAML::EventHandler {
 public:
  explicit YamlBuilder(YamlTree& tree) : tree_(tree) {}

  void OnDocumentStart(const YAML::Mark& mark) override;
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override;
  void OnSequenceEnd() override;
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override;
  void OnMapEnd() override;

 private:
  using Json = nlohmann::json;

  // A mapping or list that is not closed yet.
  struct Open {
    Json value;
    std::string pointer;
    YAML::anchor_t anchor = 0;
    std::size_t nodes_before = 0;
    std::size_t height = 1;  // number of levels below it, plus one
    std::string key;         // in a mapping: the key whose value comes next
    bool has_key = false;
  };
  struct Anchored {
    Json value;
    std::size_t nodes = 1;
    std::size_t height = 0;
  };

  bool next_is_key() const { return !open_.empty() && open_.back().value.is_object() && !open_.back().has_key; }
  void take_key(const YAML::Mark& mark, const std::string& key);
  std::string next_pointer() const;
  void count_nodes(const YAML::Mark& mark, std::size_t nodes);
  void open_collection(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Json empty);
  void close_collection();
  void place(Json value, std::size_t height);
  void place_leaf(const YAML::Mark& mark, YAML::anchor_t anchor, Json value);
  void note_position(const YAML::Mark& mark, const std::string& pointer);

  YamlTree& tree_;
  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, Anchored> anchored_;
  std::size_t nodes_ = 0;
  bool started_ = false;
};

}  // namespace perfbench::harness
