#include "harness/app/data/document_lines.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

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
                            "found " + spec::shown(item) + "; an id is an integer from 0 to 2147483647");
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

namespace {

constexpr const char* kLambadaLine = "a line of lambada has 'text'";
constexpr const char* kBoolqLine = "a line of boolq has 'question', 'passage' and 'answer'";

const spec::Json& answer_value(const spec::Json& line, const std::string& key, const char* what_lines_have) {
  const auto found = line.find(key);
  if (found == line.end()) throw spec::SpecError("", "the key '" + key + "' is missing; " + what_lines_have);
  return *found;
}

std::string text_of(const spec::Json& line, const std::string& key, const char* what_lines_have) {
  const auto& value = answer_value(line, key, what_lines_have);
  if (!value.is_string()) {
    throw spec::SpecError("/" + key, "found " + spec::shown(value) + " where a text is expected");
  }
  return value.get<std::string>();
}

std::size_t shared_tokens(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

EvaluationItem item_of(const Tokenizer& tokenizer, const std::string& prompt,
                       const std::vector<std::string>& completions, std::size_t right) {
  EvaluationItem item{.prompt = tokenizer.tokens_of(prompt), .completions = {}, .right = right};
  std::vector<std::vector<std::int32_t>> whole;
  for (const auto& completion : completions) {
    whole.push_back(tokenizer.tokens_of(prompt + completion));
    item.prompt.resize(shared_tokens(item.prompt, whole.back()));
  }
  for (const auto& ids : whole) {
    item.completions.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(item.prompt.size()), ids.end());
    if (item.completions.back().empty()) throw spec::SpecError("", "a completion adds no token to its prompt");
  }
  if (const auto begin = tokenizer.begin()) item.prompt.insert(item.prompt.begin(), *begin);
  if (item.prompt.empty()) throw spec::SpecError("", "the prompt has no token");
  return item;
}

}  // namespace

EvaluationItem lambada_item(const spec::Json& line, const Tokenizer& tokenizer) {
  auto text = text_of(line, "text", kLambadaLine);
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  const auto space = text.rfind(' ');
  if (space == std::string::npos || text.find_first_not_of(' ') > space) {
    throw spec::SpecError("/text", "found " + spec::shown(text) + "; the last word must follow others");
  }
  return item_of(tokenizer, text.substr(0, space), {text.substr(space)}, 0);
}

EvaluationItem boolq_item(const spec::Json& line, const Tokenizer& tokenizer) {
  const auto& answer = answer_value(line, "answer", kBoolqLine);
  if (!answer.is_boolean()) {
    throw spec::SpecError("/answer", "found " + spec::shown(answer) + " where true or false is expected");
  }
  const auto prompt =
      text_of(line, "passage", kBoolqLine) + "\nQuestion: " + text_of(line, "question", kBoolqLine) + "?\nAnswer:";
  return item_of(tokenizer, prompt, {" no", " yes"}, answer.get<bool>() ? 1 : 0);
}

}  // namespace perfbench::harness
