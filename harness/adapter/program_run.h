// One run of a program: DIR/program.json in; program.log, samples.jsonl, copies of metric files, env.json and
// result.json out.
#pragma once

#include <filesystem>

#include "workloads/spec/program_result.h"

namespace perfbench::adapter {

struct RunRequest {
  std::filesystem::path dir;
  std::filesystem::path turns;  // folder of FIFOs (workloads/spec/turn_files.h); empty: the program takes none
};

// Runs it, writes result.json and returns what that says; an input error is a result, too. Throws RunDirectoryError
// when the files cannot be written.
spec::ProgramResult run_program(const RunRequest& request);

// The same files, but env.json, out of a log that somebody has: what DIR/program.json says is read out of it. There is
// no command, and no clock saw its lines. Throws ReaderError, SpecError, FileError, RunDirectoryError.
spec::ProgramResult adapt_log(const std::filesystem::path& log, const std::filesystem::path& dir);

}  // namespace perfbench::adapter
