#include "harness/ab/side_execution.h"

#include <fmt/core.h>

#include "harness/input_error.h"

namespace perfbench::harness {

SideRun execute_side(const SideExecution& execution, const AbCell& cell, Side side, std::filesystem::path* directory) {
  const auto& what = side == Side::a ? execution.a : execution.b;
  auto settings = execution.settings;
  settings.launcher.engine = what.engine;
  settings.launcher.engine_arguments = what.engine_arguments;
  const auto before = load_moment();
  execution.instructions->start();
  const auto finished = execute_attempt(cell.of(side), settings, [](std::int64_t) {});
  const auto instructions = execution.instructions->stop();
  const auto load = load_since(before);
  if (directory != nullptr) *directory = finished.directory;
  try {
    auto run = store_side_run(*execution.db, finished.directory, finished.record);
    run.load = load;
    run.instructions = instructions;
    if (finished.cancel_seen) run.state = AttemptState::cancelled;
    return run;
  } catch (const InputError& e) {
    throw InputError(fmt::format("[compare] {} ({}): this perfbench does not understand what its engine wrote: {}",
                                 spec::enum_name(side), what.asked, e.what()));
  }
}

}  // namespace perfbench::harness
