// What the environment asks of NCCL, whatever NCCL this build has.
#pragma once

#include <cstdlib>
#include <string>

#include "engine/core/error.h"

namespace perfbench::engine {

inline bool asks_for_registration() {
  const char* const set = std::getenv("PERFBENCH_NCCL_REGISTER");
  const std::string wanted = set == nullptr ? "" : set;
  if (wanted.empty() || wanted == "0") return false;
  if (wanted == "1") return true;
  throw BadInput("PERFBENCH_NCCL_REGISTER is '" + wanted + "', it must be 1 (register the arena with NCCL) or 0");
}

}  // namespace perfbench::engine
