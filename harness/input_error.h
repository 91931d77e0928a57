// A mistake in what the user gave. Ends with exit code 3.
#pragma once

#include <stdexcept>
#include <string>

namespace perfbench::harness {

// `message` is complete: "[matrix] file:line:column what was found, what was wanted, how to fix it".
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace perfbench::harness
