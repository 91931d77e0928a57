// The user's wish to stop, where there is nothing yet that a result could be returned in.
#pragma once

#include <stdexcept>
#include <string>

namespace perfbench::harness {

// `message` says what was stopped: "[plan] cancelled; nothing was run". Ends with exit code 4.
class Cancelled : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace perfbench::harness
