#include "harness/system/text_template.h"

#include <fmt/core.h>

namespace perfbench::harness {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

// Calls literal(text) for runs of plain characters, brace(c) for a doubled brace and name(n) for a name.
template <class Literal, class Brace, class Name>
void take_apart(std::string_view text, const Literal& literal, const Brace& brace, const Name& name) {
  for (std::size_t at = 0; at < text.size();) {
    const auto next = std::min(text.find_first_of("{}", at), text.size());
    if (next > at) literal(text.substr(at, next - at));
    if (next == text.size()) return;
    if (next + 1 < text.size() && text[next + 1] == text[next]) {
      brace(text[next]);
      at = next + 2;
      continue;
    }
    auto end = next + 1;
    while (end < text.size() && is_name_character(text[end])) ++end;
    if (text[next] == '}' || end == next + 1 || end == text.size() || text[end] != '}') {
      throw TemplateError(fmt::format("'{}' has a single brace; write {} for the character itself", text,
                                      text[next] == '{' ? "{{" : "}}"));
    }
    name(std::string(text.substr(next + 1, end - next - 1)));
    at = end + 1;
  }
}

}  // namespace

std::vector<TemplatePart> template_parts(std::string_view text) {
  std::vector<TemplatePart> out;
  const auto add_text = [&out](std::string_view part) {
    if (out.empty() || out.back().is_name) out.emplace_back();
    out.back().text += part;
  };
  take_apart(
      text, add_text,
      [&](char c) {
        add_text({&c, 1});
      },
      [&out](std::string name) { out.push_back({.text = std::move(name), .is_name = true}); });
  return out;
}

std::vector<std::string> template_names(std::string_view text) {
  std::vector<std::string> out;
  for (auto& part : template_parts(text)) {
    if (part.is_name) out.push_back(std::move(part.text));
  }
  return out;
}

std::string fill_known(std::string_view text, const TemplateValue& value) {
  std::string out;
  take_apart(
      text, [&out](std::string_view part) { out += part; }, [&out](char c) { out.append(2, c); },
      [&](const std::string& name) {
        const auto known = value(name);
        out += known ? escape_template(*known) : "{" + name + "}";
      });
  return out;
}

std::string fill_all(std::string_view text, const TemplateValue& value) {
  std::string out;
  take_apart(
      text, [&out](std::string_view part) { out += part; }, [&out](char c) { out += c; },
      [&](const std::string& name) {
        const auto known = value(name);
        if (!known) throw TemplateError(fmt::format("'{}': there is no value for {{{}}}", text, name));
        out += *known;
      });
  return out;
}

std::string escape_template(std::string_view text) {
  std::string out;
  for (const char c : text) out.append(c == '{' || c == '}' ? 2 : 1, c);
  return out;
}

}  // namespace perfbench::harness
