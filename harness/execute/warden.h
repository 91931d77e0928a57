// The process between the harness and a command. It outlives a killed harness, so that nothing the harness started
// does: it adopts every orphan below it (child subreaper), and ends them all when the command has ended, when it is
// told to, or when the harness is gone (its end of the control pipe closes). mpirun puts each rank into a process group
// of its own, which is why ending the command's group alone would leave ranks running.
//
//   harness --control--> warden --> command --> ranks
//           <--status---
#pragma once

#include <sys/types.h>

namespace perfbench::harness {

// One byte on the control pipe. A closed pipe means kill.
enum class WardenOrder : char { terminate = 'T', kill = 'K' };

// On the status pipe: one message when the command has started (or could not be), one when everything has ended.
struct WardenMessage {
  pid_t command = 0;    // process id of the command
  int start_error = 0;  // errno of the step that failed, 0 when it started
  int wait_status = 0;  // as of waitpid, of the command
};

struct WardenSetup {
  int control_fd = -1;  // read end
  int status_fd = -1;   // write end
  int output_fd = -1;   // standard output of the command
  int error_fd = -1;    // standard error of the command
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* working_dir = nullptr;  // nullptr: as the harness
  long long largest_file_bytes = 0;   // 0: as the harness
};

// To be called in a freshly forked child; never returns.
[[noreturn]] void run_warden(const WardenSetup& setup);

}  // namespace perfbench::harness
