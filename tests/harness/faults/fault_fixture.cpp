#include "tests/harness/faults/fault_fixture.h"

namespace perfbench::harness {

// Here and not in the header, because the paths come from the build.
ProcessRequest Faults::request(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench");
  return {.command = std::move(arguments),
          .working_dir = scratch_.path(),
          .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR},
                          {"PERFBENCH_ENGINE", PERFBENCH_FAKE_ENGINE},
                          {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                          {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}}};
}

ProcessRequest Faults::interrupted_by_its_engine(ProcessRequest request) {
  // The shell becomes perfbench, so its process id is perfbench's.
  const std::vector<std::string> shell{"/bin/sh", "-c", "PERFBENCH_FAKE_INTERRUPTS=$$ exec \"$@\"", "sh"};
  request.command.insert(request.command.begin(), shell.begin(), shell.end());
  return request;
}

ProcessRequest Faults::killed_by_its_engine(ProcessRequest request) const {
  const auto engine = scratch_ / "killer";
  write_text(engine, std::string("#!/bin/sh\n[ \"$1\" = run ] && kill -9 $PERFBENCH_FAKE_INTERRUPTS\nexec ") +
                         PERFBENCH_FAKE_ENGINE + " \"$@\"\n");
  std::filesystem::permissions(engine, std::filesystem::perms::owner_all);
  request.environment["PERFBENCH_ENGINE"] = engine.string();
  return interrupted_by_its_engine(std::move(request));
}

ProcessRequest Faults::sweep_request(const std::vector<std::string>& options) const {
  std::vector<std::string> arguments{"sweep", "faults.yaml", "--db", "f.db"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return request(std::move(arguments));
}

}  // namespace perfbench::harness
