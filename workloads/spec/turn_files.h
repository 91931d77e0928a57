// How a harness lets an engine take its steps one at a time, so that two engines can alternate: a folder of FIFOs,
// given to `perfbench-engine run --turns FOLDER`. Before each step, and once more before it ends, every rank writes a
// byte to `asks` and sleeps until it has read a byte from its own `go.RANK`. Both sides open the FIFOs for reading and
// writing, so that neither waits for the other to open them.
#pragma once

#include <cstdint>
#include <string>

namespace perfbench::spec {

inline constexpr const char* kTurnAsksFile = "asks";

inline std::string turn_go_file(std::int64_t rank) {
  return "go." + std::to_string(rank);
}

}  // namespace perfbench::spec
