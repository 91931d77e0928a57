#include "tests/harness/faults/fault_fixture.h"

namespace perfbench::harness {

// Here and not in the header: the paths come from the build.
ProcessRequest Faults::sweep_request(std::vector<std::string> options) const {
  std::vector<std::string> command{std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench", "sweep", "faults.yaml", "--db",
                                   "f.db"};
  command.insert(command.end(), options.begin(), options.end());
  return {.command = command,
          .working_dir = scratch_.path(),
          .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR},
                          {"PERFBENCH_ENGINE", PERFBENCH_FAKE_ENGINE},
                          {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                          {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}}};
}

}  // namespace perfbench::harness
