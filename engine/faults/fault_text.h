// "slow:span=matmul,fraction=0.2" taken apart.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace perfbench::engine {

class FaultText {
 public:
  // Throws BadInput for what is not KIND or KIND:key=value,...
  explicit FaultText(std::string_view text);

  const std::string& kind() const { return kind_; }
  // Each may be asked for once. Throw BadInput: without the key, or for a value that is no number of at least 0.
  std::string take(const std::string& key);
  double take_number(const std::string& key);
  // `otherwise` without the key.
  double take_number(const std::string& key, double otherwise);
  // Throws BadInput when a key was not asked for.
  void finish() const;

 private:
  [[noreturn]] void fail(const std::string& what) const;

  std::string text_;
  std::string kind_;
  std::map<std::string, std::string> values_;
};

}  // namespace perfbench::engine
