// What steps.rank<R>.jsonl of a run directory say of the run's losses and gradients (workloads/spec/finiteness.h).
#pragma once

#include <cstdint>
#include <filesystem>

#include "workloads/spec/finiteness.h"

namespace perfbench::harness {

// Of all ranks. A line that is cut off or damaged says nothing here: ingest names it.
spec::Finiteness finiteness_of_steps(const std::filesystem::path& directory, std::int64_t ranks);

}  // namespace perfbench::harness
