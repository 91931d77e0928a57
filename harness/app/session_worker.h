// The job's end of a session (harness/launch/session_folder.h): executes its tasks one after the other.
#pragma once

#include <filesystem>

#include "harness/app/installation.h"

namespace perfbench::harness {

class Interruption;

// How the worker came to its end.
enum class WorkerEnd {
  complete,   // no task was left
  cancelled,  // by the harness, or by a signal of the scheduler
  abandoned,  // nobody gave it a task for kLongestWait
};

// Throws InputError if the folder is not that of a session, RunDirectoryError if its files cannot be written.
WorkerEnd work_on_session(const std::filesystem::path& folder, const Installation& installation,
                          Interruption& interruption);

}  // namespace perfbench::harness
