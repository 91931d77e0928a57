// Numbers from outside that are imported as a baseline. YAML or JSON:
//
//     values:
//         - {cell: "model=llama-tiny fsdp=2", metric: step_time_s, value: 0.52}
//         - {run: 5b746f9b..., metric: step_time_s, value: [0.52, 0.53, 0.52]}   # one per process run
//
// or CSV with the columns cell or run, metric, value, in any order, one value a line.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/store/ledgers/baseline_ledger.h"

namespace perfbench::harness {

// Throws InputError with file:line:column for an unknown key, column or metric, and for a value that is not a positive
// number.
std::vector<BaselineValue> read_baseline_file(const std::filesystem::path& file);

}  // namespace perfbench::harness
