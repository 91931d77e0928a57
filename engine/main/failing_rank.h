// Ends a rank that cannot go on: writes the reason to result.json, and ends all other ranks, which would wait for it.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>

#include "engine/core/error.h"
#include "engine/parallel/processes.h"

namespace perfbench::engine {

struct FailingRank {
  std::filesystem::path dir;  // of the run
  std::int64_t rank = 0;
  Processes* processes = nullptr;  // null with one rank
};

// The exit code for an exception. Host memory runs out as std::bad_alloc.
EngineExit exit_of(const std::exception& failure);

// Writes the reason to standard error and to result.json. With several ranks it aborts all of them and does not return.
EngineExit end_run(const FailingRank& where, const std::exception& failure);

// Calls `f`. An exception ends all ranks at once, before the objects that `f` uses are destroyed: messages that the
// others wait for may be under way, and freeing memory would wait for them. With one rank the exception propagates.
template <class F>
void ending_all_ranks(const FailingRank& where, F&& f) {
  try {
    f();
  } catch (const std::exception& failure) {
    if (where.processes != nullptr) end_run(where, failure);
    throw;
  }
}

}  // namespace perfbench::engine
