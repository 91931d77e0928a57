// How a harness lets an engine take its steps one at a time, so that two engines can take turns: a folder of FIFOs,
// given to `perfbench-engine run --turns FOLDER`. Before each step, and once more before it ends, every rank writes a
// byte into `asks` and sleeps until it has read a byte from its own `go.RANK`. Both sides open them for reading and
// writing, so that nobody waits for the other to open.
#pragma once

#include <cstdint>
#include <string>

namespace perfbench::spec {

inline constexpr const char* kTurnAsksFile = "asks";

inline std::string turn_go_file(std::int64_t rank) {
  return "go." + std::to_string(rank);
}

}  // namespace perfbench::spec
