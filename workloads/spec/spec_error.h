// The error of every contract file. `pointer` is the RFC 6901 JSON pointer of the offending value ("/mesh/ici/dp"),
// which a reader of YAML maps to file:line:column.
#pragma once

#include <stdexcept>
#include <string>

namespace perfbench::spec {

class SpecError : public std::runtime_error {
 public:
  SpecError(std::string pointer, const std::string& message)
      : std::runtime_error(message), pointer_(std::move(pointer)) {}
  const std::string& pointer() const { return pointer_; }

 private:
  std::string pointer_;
};

// The text is not JSON: it was cut off or damaged. Any other SpecError is about its content.
class NotJson : public SpecError {
 public:
  using SpecError::SpecError;
};

}  // namespace perfbench::spec
