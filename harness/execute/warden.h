// The process between the harness and a command. It outlives a killed harness, so that nothing else does that the
// harness started. It adopts every orphan below it (child subreaper). It ends them all when the command has ended, when
// it is told to, or when the harness is gone (which closes the harness's end of the control pipe). mpirun puts each
// rank into a process group of its own. Ending only the command's group would therefore leave ranks running.
// When all have ended, it runs the last command, which ends what belongs to a daemon.
//
//     harness --control--> warden --> command --> ranks
//                     <--status---
#pragma once

#include <sys/types.h>

namespace perfbench::harness {

// One byte on the control pipe. A closed pipe means kill.
enum class WardenOrder : char { terminate = 'T', kill = 'K' };

// Sent on the status pipe: one message when the command has started (or could not be), one when everything has ended.
struct WardenMessage {
  pid_t command = 0;    // process id of the command
  int start_error = 0;  // errno of the step that failed, 0 if the command started
  int wait_status = 0;  // of the command, as from waitpid
};

struct WardenSetup {
  int control_fd = -1;  // read end
  int status_fd = -1;   // write end
  int output_fd = -1;   // standard output of the command
  int error_fd = -1;    // standard error of the command
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* working_dir = nullptr;    // nullptr: the harness's
  long long largest_file_bytes = 0;     // 0: the harness's
  char* const* last_command = nullptr;  // ends with a null; holds nothing else if there is no such command
};

// Call it in a freshly forked child. It never returns.
[[noreturn]] void run_warden(const WardenSetup& setup);

}  // namespace perfbench::harness
