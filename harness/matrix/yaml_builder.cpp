#include "harness/matrix/yaml_builder.h"

#include <yaml-cpp/mark.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "workloads/spec/fields_json.h"

namespace perfbench::harness {
namespace {

using Json = nlohmann::json;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t count_digits(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  return n;
}

enum class Shape { text, whole_number, decimal };

// Recognises [-+]?(0|[1-9][0-9]*) and [-+]?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][-+]?[0-9]+)? with at least one digit before
// the exponent.
Shape number_shape(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  const std::size_t whole = count_digits(text);
  if (whole > 1 && text[0] == '0') return Shape::text;
  text.remove_prefix(whole);
  if (text.empty()) return whole > 0 ? Shape::whole_number : Shape::text;
  std::size_t fraction = 0;
  if (text[0] == '.') {
    text.remove_prefix(1);
    fraction = count_digits(text);
    text.remove_prefix(fraction);
  }
  if (whole + fraction == 0) return Shape::text;
  if (text.empty()) return Shape::decimal;
  if (text[0] != 'e' && text[0] != 'E') return Shape::text;
  text.remove_prefix(1);
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  const std::size_t exponent = count_digits(text);
  return exponent > 0 && exponent == text.size() ? Shape::decimal : Shape::text;
}

bool is_not_finite(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return text == ".nan" || text == ".NaN" || text == ".NAN" || text == ".inf" || text == ".Inf" || text == ".INF";
}

// `plain` has the shape of a number; std::from_chars does not accept a '+'.
Json parse_number(const std::string& plain, Shape shape) {
  const char* first = plain.data() + (plain[0] == '+' ? 1 : 0);
  const char* last = plain.data() + plain.size();
  if (shape == Shape::whole_number) {
    std::int64_t value = 0;
    if (std::from_chars(first, last, value).ec == std::errc{}) return Json(value);
    std::uint64_t large = 0;
    if (std::from_chars(first, last, large).ec == std::errc{}) return Json(large);
    throw std::invalid_argument("the number " + plain + " needs more than 64 bits; put it in quotes if it is text");
  }
  double value = 0;
  if (std::from_chars(first, last, value).ec == std::errc{} && std::isfinite(value)) return Json(value);
  throw std::invalid_argument("the number " + plain +
                              " is outside what a double can hold; put it in quotes if it is text");
}

}  // namespace

Json core_schema_value(const std::string& plain) {
  if (plain.empty() || plain == "~" || plain == "null" || plain == "Null" || plain == "NULL") return nullptr;
  if (plain == "true") return true;
  if (plain == "false") return false;
  if (is_not_finite(plain)) throw std::invalid_argument(plain + " is not a finite number");
  const Shape shape = number_shape(plain);
  if (shape == Shape::text) return plain;
  return parse_number(plain, shape);
}

namespace {

// yaml-cpp counts from 0.
SourcePosition position_of(const YAML::Mark& mark) {
  return {std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1};
}

[[noreturn]] void fail(const YAML::Mark& mark, std::string message) {
  throw YamlMistake{position_of(mark), std::move(message)};
}

// yaml-cpp's tag of a value that has no tag.
constexpr std::string_view kPlain = "?";
constexpr std::string_view kQuoted = "!";

void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
  if (tag.empty() || tag == kPlain || tag == kQuoted) return;
  fail(mark, "tags are not supported here (found " + tag + "): write the plain value, in quotes if it is text");
}

}  // namespace

void YamlBuilder::OnDocumentStart(const YAML::Mark& mark) {
  if (started_) fail(mark, "a second document starts here: a file may contain only one (a '---' separates them)");
  started_ = true;
}

void YamlBuilder::take_key(const YAML::Mark& mark, const std::string& key) {
  Open& mapping = open_.back();
  if (key == "<<") fail(mark, "merge keys ('<<') are not supported: write the keys out");
  const std::string pointer = mapping.pointer + "/" + spec::pointer_token(key);
  if (mapping.value.contains(key)) {
    const auto first = tree_.positions.at(pointer);
    fail(mark, "the key '" + key + "' appears a second time; the first one is in line " + std::to_string(first.line));
  }
  mapping.key = key;
  mapping.has_key = true;
  tree_.keys[mapping.pointer].push_back(key);
  note_position(mark, pointer);
}

std::string YamlBuilder::next_pointer() const {
  if (open_.empty()) return "";
  const Open& parent = open_.back();
  if (parent.value.is_object()) return parent.pointer + "/" + spec::pointer_token(parent.key);
  return parent.pointer + "/" + std::to_string(parent.value.size());
}

void YamlBuilder::count_nodes(const YAML::Mark& mark, std::size_t nodes) {
  nodes_ += nodes;
  if (nodes_ > kYamlMaxNodes) {
    fail(mark, "more than " + std::to_string(kYamlMaxNodes) + " values (aliases counted at each use)");
  }
}

void YamlBuilder::note_position(const YAML::Mark& mark, const std::string& pointer) {
  // An entry of a mapping has the position of its key, which comes first.
  tree_.positions.try_emplace(pointer, position_of(mark));
}

void YamlBuilder::place(Json value, std::size_t height) {
  if (open_.empty()) {
    tree_.root = std::move(value);
    return;
  }
  Open& parent = open_.back();
  parent.height = std::max(parent.height, height + 1);
  if (parent.value.is_object()) {
    parent.value[parent.key] = std::move(value);
    parent.has_key = false;
  } else {
    parent.value.push_back(std::move(value));
  }
}

void YamlBuilder::place_leaf(const YAML::Mark& mark, YAML::anchor_t anchor, Json value) {
  count_nodes(mark, 1);
  note_position(mark, next_pointer());
  if (anchor != 0) anchored_[anchor] = Anchored{value, 1, 0};
  place(std::move(value), 0);
}

void YamlBuilder::OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) {
  if (next_is_key()) fail(mark, "a key is empty; put it in quotes if it is the text 'null' or '~'");
  place_leaf(mark, anchor, nullptr);
}

void YamlBuilder::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                           const std::string& value) {
  refuse_tag(mark, tag);
  if (value.find('\0') != std::string::npos) fail(mark, "text contains a NUL character");
  if (next_is_key()) {
    if (anchor != 0) fail(mark, "a key cannot carry an anchor ('&')");
    take_key(mark, value);
    return;
  }
  try {
    place_leaf(mark, anchor, tag == kQuoted ? Json(value) : core_schema_value(value));
  } catch (const std::invalid_argument& e) {
    fail(mark, e.what());
  }
}

void YamlBuilder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  if (next_is_key()) fail(mark, "a key cannot be an alias ('*')");
  const auto found = anchored_.find(anchor);
  if (found == anchored_.end()) fail(mark, "the alias is inside the value that it names");
  const Anchored& target = found->second;
  count_nodes(mark, target.nodes);
  if (open_.size() + target.height > kYamlMaxDepth) {
    fail(mark, "nested deeper than " + std::to_string(kYamlMaxDepth) + " levels");
  }
  note_position(mark, next_pointer());
  place(target.value, target.height);
}

void YamlBuilder::open_collection(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Json empty) {
  refuse_tag(mark, tag);
  if (next_is_key()) fail(mark, "a key must be a word, not a list or a mapping");
  if (open_.size() == kYamlMaxDepth) fail(mark, "nested deeper than " + std::to_string(kYamlMaxDepth) + " levels");
  const std::size_t before = nodes_;
  count_nodes(mark, 1);
  Open opened;
  opened.value = std::move(empty);
  opened.pointer = next_pointer();
  opened.anchor = anchor;
  opened.nodes_before = before;
  note_position(mark, opened.pointer);
  if (opened.value.is_object()) tree_.keys[opened.pointer];
  open_.push_back(std::move(opened));
}

void YamlBuilder::close_collection() {
  Open closed = std::move(open_.back());
  open_.pop_back();
  if (closed.anchor != 0) {
    anchored_[closed.anchor] = Anchored{closed.value, nodes_ - closed.nodes_before, closed.height};
  }
  place(std::move(closed.value), closed.height);
}

void YamlBuilder::OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                                  YAML::EmitterStyle::value /*style*/) {
  open_collection(mark, tag, anchor, Json::array());
}

void YamlBuilder::OnSequenceEnd() {
  close_collection();
}

void YamlBuilder::OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                             YAML::EmitterStyle::value /*style*/) {
  open_collection(mark, tag, anchor, Json::object());
}

void YamlBuilder::OnMapEnd() {
  close_collection();
}

}  // namespace perfbench::harness
