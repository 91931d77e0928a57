// Texts in which {name} stands for a value, and {{ and }} for braces.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace perfbench::harness {

// An unpaired brace, or a name without a value. The message says what to write instead.
class TemplateError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A piece of a template: text that stands for itself, or the name of a value.
struct TemplatePart {
  std::string text;
  bool is_name = false;
};

// The pieces in order, without empty ones and without two texts in a row. Throws TemplateError.
std::vector<TemplatePart> template_parts(std::string_view text);

// The names in order, including repeated ones. Throws TemplateError.
std::vector<std::string> template_names(std::string_view text);

// The text of a name; nullopt if there is none.
using TemplateValue = std::function<std::optional<std::string>(const std::string& name)>;

// Fills the names that have a value. The result is still a template: names without a value and doubled braces stay, and
// the braces of a value are doubled. Throws TemplateError.
std::string fill_known(std::string_view text, const TemplateValue& value);

// Fills all names and makes doubled braces single. Throws TemplateError, also for a name without a value.
std::string fill_all(std::string_view text, const TemplateValue& value);

// The template that stands for exactly this text.
std::string escape_template(std::string_view text);

}  // namespace perfbench::harness
