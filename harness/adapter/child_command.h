// Starts a program without a shell and without a terminal, in a session of its own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/system/files.h"

namespace perfbench::adapter {

struct ChildCommand {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // added to the adapter's environment, or replacing variables of it
  std::filesystem::path workdir;
};

struct StartedChild {
  pid_t pid = -1;
  int error = 0;                   // errno of the step that failed; 0: the program is running
  harness::FileDescriptor output;  // read end of its standard output and error; non-blocking
};

// Starts the program, which dies with the adapter. Its standard input is empty. Throws RunDirectoryError if the system
// has no pipe or process left.
StartedChild start_child(const ChildCommand& child);

}  // namespace perfbench::adapter
