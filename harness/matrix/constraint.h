// One comparison over the numbers of a cell: "fsdp * tp <= 8", "model.n_kv_heads % tp == 0".
//
//     comparison = sum ("<" | "<=" | ">" | ">=" | "==" | "!=") sum
//     sum        = product { ("+" | "-") product }
//     product    = factor { ("*" | "/" | "%") factor }
//     factor     = number | size | key | "(" sum ")"
//     size       = number unit, "4GB" (workloads/spec/amount_text.h)
//
// Arithmetic is in double precision, which is exact for integers below 2^53; "/" is true division.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace perfbench::harness {

class ConstraintError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Constraint {
 public:
  // Throws ConstraintError for text that is not a comparison.
  static Constraint parse(std::string_view text);

  struct Result {
    bool holds = true;
    double left = 0;
    double right = 0;
  };
  // `value_of` returns the number of a key. Throws ConstraintError on a division by zero.
  Result evaluate(const std::function<double(const std::string& key)>& value_of) const;

  const std::string& text() const { return text_; }
  std::vector<std::string> keys() const;
  std::string_view comparison() const { return comparison_; }

 private:
  // Reverse Polish notation: operands are pushed, operators take the top two values.
  struct Step {
    enum class Kind { number, key, operation } kind = Kind::number;
    double number = 0;
    std::string key;
    char operation = 0;
  };
  friend class ConstraintParser;
  static double run(const std::vector<Step>& steps, const std::function<double(const std::string& key)>& value_of);

  std::string text_;
  std::vector<Step> left_;
  std::vector<Step> right_;
  std::string comparison_;
};

}  // namespace perfbench::harness
