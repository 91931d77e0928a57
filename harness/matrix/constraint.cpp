#include "harness/matrix/constraint.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "workloads/spec/amount_text.h"

namespace perfbench::harness {

class ConstraintParser {
 public:
  explicit ConstraintParser(std::string_view text) : text_(text) {}

  Constraint parse() {
    Constraint out;
    out.text_ = std::string(text_);
    sum(out.left_);
    out.comparison_ = comparison();
    sum(out.right_);
    skip_space();
    if (at_ < text_.size()) fail("an end");
    return out;
  }

 private:
  using Step = Constraint::Step;

  [[noreturn]] void fail(const std::string& wanted) {
    skip_space();
    const std::string found = at_ < text_.size() ? "'" + std::string(text_.substr(at_)) + "'" : "the end";
    throw ConstraintError("'" + std::string(text_) + "': found " + found + " where " + wanted +
                          " is needed; a constraint is one comparison such as 'fsdp * tp <= 8'");
  }

  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  // Takes the next character if it is one of `wanted`, and returns it; otherwise returns 0.
  char take(std::string_view wanted) {
    skip_space();
    if (at_ >= text_.size() || wanted.find(text_[at_]) == std::string_view::npos) return 0;
    return text_[at_++];
  }

  std::string comparison() {
    skip_space();
    for (const std::string_view word : {"<=", ">=", "==", "!=", "<", ">"}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return std::string(word);
      }
    }
    fail("one of < <= > >= == !=");
  }

  void sum(std::vector<Step>& out) {
    product(out);
    while (const char operation = take("+-")) {
      product(out);
      out.push_back({Step::Kind::operation, 0, "", operation});
    }
  }

  void product(std::vector<Step>& out) {
    factor(out);
    while (const char operation = take("*/%")) {
      factor(out);
      out.push_back({Step::Kind::operation, 0, "", operation});
    }
  }

  void factor(std::vector<Step>& out) {
    if (take("(") != 0) {
      sum(out);
      if (take(")") == 0) fail("')'");
      return;
    }
    skip_space();
    const std::string_view rest = text_.substr(at_);
    if (!rest.empty() && std::isdigit(static_cast<unsigned char>(rest[0])) != 0) return number(rest, out);
    std::size_t length = 0;
    while (length < rest.size() && is_key_character(rest[length])) ++length;
    if (length == 0) fail("a number or a key");
    at_ += length;
    out.push_back({Step::Kind::key, 0, std::string(rest.substr(0, length)), 0});
  }

  // A number, or a size such as 4GB.
  void number(std::string_view rest, std::vector<Step>& out) {
    double value = 0;
    const auto [stopped, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc{}) fail("a number");
    auto length = static_cast<std::size_t>(stopped - rest.data());
    if (length < rest.size() && is_key_character(rest[length])) {
      while (length < rest.size() && is_key_character(rest[length])) ++length;
      const auto bytes = spec::parse_size_bytes(rest.substr(0, length), std::nullopt);
      if (!bytes) fail("a number, or a size such as " + std::string(spec::kSizeExamples) + ",");
      value = *bytes;
    }
    at_ += length;
    out.push_back({Step::Kind::number, value, "", 0});
  }

  static bool is_key_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Constraint Constraint::parse(std::string_view text) {
  constexpr std::size_t kLongest = 200;  // also bounds the depth of parentheses
  if (text.size() > kLongest) throw ConstraintError("a constraint may have at most 200 characters");
  return ConstraintParser(text).parse();
}

std::vector<std::string> Constraint::keys() const {
  std::vector<std::string> out;
  for (const auto* side : {&left_, &right_}) {
    for (const auto& step : *side) {
      if (step.kind == Step::Kind::key) out.push_back(step.key);
    }
  }
  return out;
}

double Constraint::run(const std::vector<Step>& steps, const std::function<double(const std::string& key)>& value_of) {
  std::vector<double> stack;
  for (const auto& step : steps) {
    if (step.kind == Step::Kind::number) {
      stack.push_back(step.number);
      continue;
    }
    if (step.kind == Step::Kind::key) {
      stack.push_back(value_of(step.key));
      continue;
    }
    const double right = stack.back();
    stack.pop_back();
    double& left = stack.back();
    if ((step.operation == '/' || step.operation == '%') && right == 0) {
      throw ConstraintError("divides by zero");
    }
    switch (step.operation) {
      case '+':
        left += right;
        break;
      case '-':
        left -= right;
        break;
      case '*':
        left *= right;
        break;
      case '/':
        left /= right;
        break;
      default:
        left = std::fmod(left, right);
    }
  }
  return stack.back();
}

Constraint::Result Constraint::evaluate(const std::function<double(const std::string& key)>& value_of) const {
  Result result;
  result.left = run(left_, value_of);
  result.right = run(right_, value_of);
  if (comparison_ == "<") result.holds = result.left < result.right;
  if (comparison_ == "<=") result.holds = result.left <= result.right;
  if (comparison_ == ">") result.holds = result.left > result.right;
  if (comparison_ == ">=") result.holds = result.left >= result.right;
  if (comparison_ == "==") result.holds = result.left == result.right;
  if (comparison_ == "!=") result.holds = result.left != result.right;
  return result;
}

}  // namespace perfbench::harness
