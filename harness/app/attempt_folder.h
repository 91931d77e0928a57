// The folder that a person means who names a recorded run.
#pragma once

#include <filesystem>
#include <string>

namespace perfbench::harness {

// The folder of an attempt as it is; of a run (RUNS/<run>) its newest complete attempt. Throws InputError, as
// `command`, when there is none.
std::filesystem::path attempt_folder(const std::filesystem::path& named, const std::string& command);

}  // namespace perfbench::harness
