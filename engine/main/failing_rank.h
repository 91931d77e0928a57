// The end of a rank that cannot go on: its reason in result.json, and the end of all other ranks, which would wait for
// it.
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
  Processes* processes = nullptr;  // absent with one rank
};

// What an exception means for a run. Memory of the host runs out as std::bad_alloc.
EngineExit exit_of(const std::exception& failure);

// Says why on standard error and in result.json. With several ranks it aborts all of them and does not return.
EngineExit end_run(const FailingRank& where, const std::exception& failure);

// Calls `f`. Any exception of it ends all ranks at once, before what `f` uses goes: messages may be under way, for
// which the others wait, and freeing memory would wait for them. With one rank the exception goes on.
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
