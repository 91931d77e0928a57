// One run of a program. Reads DIR/program.json; writes program.log, samples.jsonl, copies of metric files, env.json and
// result.json.
#pragma once

#include <filesystem>

#include "workloads/spec/program_result.h"

namespace perfbench::adapter {

struct RunRequest {
  std::filesystem::path dir;
  std::filesystem::path turns;  // folder of FIFOs (workloads/spec/turn_files.h); empty: the program takes no turns
};

// Runs the program, writes result.json and returns its content; an input error is a result, too. Throws
// RunDirectoryError when the files cannot be written.
spec::ProgramResult run_program(const RunRequest& request);

// Makes the same files, except env.json, from an existing log, read as DIR/program.json says. No command runs, and the
// lines have no time of arrival. Throws ReaderError, SpecError, FileError, RunDirectoryError.
spec::ProgramResult adapt_log(const std::filesystem::path& log, const std::filesystem::path& dir);

}  // namespace perfbench::adapter
