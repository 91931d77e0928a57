// Ctrl-C while the engine answers, before the first cell.
#include "tests/harness/faults/fault_fixture.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;

class CancelledPlanning : public Faults {
 protected:
  // A sweep whose engine never answers `command`, but interrupts the sweep when it is called.
  ProcessEnd sweep_interrupted_in(const std::string& command) const {
    auto asked = interrupted_by_its_engine(sweep_request());
    asked.environment["PERFBENCH_FAKE_HANGS"] = command;
    return run_process(asked);
  }

  void expect_cancelled(const ProcessEnd& end) const {
    EXPECT_EQ(end.signal, 0);
    EXPECT_EQ(end.exit_code, 4);
    EXPECT_THAT(end.error_output, HasSubstr("cancelled"));
    EXPECT_FALSE(std::filesystem::exists(scratch_ / "f.runs"));
  }
};

TEST_F(CancelledPlanning, WhileCellsAreCounted) {
  write_matrix({1});
  expect_cancelled(sweep_interrupted_in("dry"));
}

TEST_F(CancelledPlanning, WhileTheEngineReportsTheMachine) {
  write_matrix({1}, "  device: cuda\n  hardware: h100\n");
  expect_cancelled(sweep_interrupted_in("env"));
}

}  // namespace
}  // namespace perfbench::harness
