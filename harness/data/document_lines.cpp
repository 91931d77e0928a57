#include "harness/data/document_lines.h"

#include <limits>
#include <string>

#include "workloads/spec/fields_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

constexpr const char* kText = "text";
constexpr const char* kPrompt = "prompt";
constexpr const char* kCompletion = "completion";

const spec::Json& document_value(const spec::Json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end()) {
    throw spec::SpecError(
        "", "the key '" + std::string(key) + "' is missing; a line has 'text', or 'prompt' and 'completion'");
  }
  return *found;
}

std::vector<std::int32_t> ids_of(const spec::Json& list, const std::string& pointer) {
  std::vector<std::int32_t> ids;
  ids.reserve(list.size());
  for (const auto& item : list) {
    if (!item.is_number_integer() || item < 0 || item > std::numeric_limits<std::int32_t>::max()) {
      throw spec::SpecError(pointer + "/" + std::to_string(ids.size()),
                            "found " + spec::shown(item) + "; an id is a whole number from 0 to 2147483647");
    }
    ids.push_back(item.get<std::int32_t>());
  }
  return ids;
}

std::vector<std::int32_t> part_of(const spec::Json& line, const char* key, const Tokenizer& tokenizer) {
  const auto& value = document_value(line, key);
  const std::string pointer = std::string("/") + key;
  if (!value.is_string() && !value.is_array()) {
    throw spec::SpecError(pointer, "found " + spec::shown(value) + " where a text or a list of ids is expected");
  }
  auto ids = value.is_string() ? tokenizer.tokens_of(value.get_ref<const std::string&>()) : ids_of(value, pointer);
  if (ids.empty()) throw spec::SpecError(pointer, "is empty; a prompt and its completion have at least one token each");
  return ids;
}

Document prompted(const spec::Json& line, const Tokenizer& tokenizer) {
  Document document{.kind = DocumentKind::prompted_ids,
                    .prompt = part_of(line, kPrompt, tokenizer),
                    .ids = part_of(line, kCompletion, tokenizer)};
  const bool text = line[kPrompt].is_string();
  if (text != line[kCompletion].is_string()) {
    throw spec::SpecError("", "one of prompt and completion is a text, the other a list of ids");
  }
  if (!text) return document;
  document.kind = DocumentKind::prompted_text;
  if (const auto begin = tokenizer.begin()) document.prompt.insert(document.prompt.begin(), *begin);
  if (const auto end = tokenizer.end()) document.ids.push_back(*end);
  return document;
}

}  // namespace

std::vector<std::int32_t> whole_document(const Tokenizer& tokenizer, std::string_view text) {
  auto ids = tokenizer.tokens_of(text);
  if (ids.empty()) return ids;
  if (const auto begin = tokenizer.begin()) ids.insert(ids.begin(), *begin);
  if (const auto end = tokenizer.end()) ids.push_back(*end);
  return ids;
}

Document document_of(const spec::Json& json, const Tokenizer& tokenizer) {
  if (!json.contains(kText)) return prompted(json, tokenizer);
  const auto& text = json[kText];
  if (!text.is_string()) throw spec::SpecError("/text", "found " + spec::shown(text) + " where a text is expected");
  return {
      .kind = DocumentKind::text, .prompt = {}, .ids = whole_document(tokenizer, text.get_ref<const std::string&>())};
}

}  // namespace perfbench::harness
