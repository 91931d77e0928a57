// Parses a fault such as "slow:span=matmul,fraction=0.2".
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace perfbench::engine {

class FaultText {
 public:
  // Throws BadInput if the text is not KIND or KIND:key=value,...
  explicit FaultText(std::string_view text);

  const std::string& kind() const { return kind_; }
  // Each key may be taken once. Both throw BadInput if the key is missing or its value is not a number of at least 0.
  std::string take(const std::string& key);
  double take_number(const std::string& key);
  // Returns `otherwise` if the key is missing.
  double take_number(const std::string& key, double otherwise);
  // Throws BadInput if a key has not been taken.
  void finish() const;

 private:
  [[noreturn]] void fail(const std::string& what) const;

  std::string text_;
  std::string kind_;
  std::map<std::string, std::string> values_;
};

}  // namespace perfbench::engine
