#include "harness/adapter/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace perfbench::adapter {
namespace {

using spec::ProgramStatus;
using ::testing::HasSubstr;

ProgramEnd ended(int exit_code) {
  ProgramEnd end;
  end.exit_code = exit_code;
  end.lines = 3;
  end.last_line = "the last words";
  end.samples = 5;
  return end;
}

spec::ProgramSpec of_steps(std::int64_t steps) {
  spec::ProgramSpec program;
  program.command = {"x"};
  program.reader = "nanogpt";
  program.steps = steps;
  return program;
}

TEST(Outcome, MemoryOfRanksThatSlurmStartsIsUnknown) {
  auto program = of_steps(10);
  auto end = ended(0);
  end.resident_bytes = 5;
  EXPECT_EQ(judge_program(program, end, {}).resident_bytes, 5);
  program.ranks = {spec::LaunchedBy::srun, "2"};
  EXPECT_EQ(judge_program(program, end, {}).resident_bytes, 0);
}

TEST(Outcome, AFailureIsNeverHiddenByARunThatIsTooShort) {
  readers::Settled settled;
  settled.steps = 3;
  settled.quarantine = "its records say 3 of 10 steps";
  const auto crashed = judge_program(of_steps(10), ended(1), settled);
  EXPECT_EQ(crashed.status, ProgramStatus::crashed);
  EXPECT_EQ(crashed.reason, "exit code 1 after 3 of 10 steps: the last words");
  EXPECT_EQ(judge_program(of_steps(10), ended(0), settled).status, ProgramStatus::quarantined);
}

TEST(Outcome, AKilledProgramNamesMemory) {
  auto end = ended(0);
  end.signal = SIGKILL;
  EXPECT_THAT(judge_program(of_steps(10), end, {}).reason, HasSubstr("because memory ran out"));
}

TEST(Outcome, AStoppedProgramIsNotACrash) {
  auto end = ended(0);
  end.stopped = true;
  end.signal = SIGTERM;
  EXPECT_EQ(judge_program(of_steps(10), end, {}).status, ProgramStatus::stopped);
}

TEST(Outcome, AReasonIsOneLineOfBoundedLength) {
  auto end = ended(1);
  end.last_line = std::string(5000, 'x') + "\x1b[2J\n";
  const auto reason = judge_program(of_steps(10), end, {}).reason;
  EXPECT_LT(reason.size(), 700U);
  EXPECT_EQ(reason.find_first_of("\n\x1b"), std::string::npos);
}

TEST(Hints, NameTheVariableThatIsMissing) {
  EXPECT_THAT(hint_in("KeyError: 'HF_HOME'")->text, HasSubstr("HF_HOME"));
  EXPECT_THAT(hint_in("run.sh: line 3: DATA: unbound variable")->text, HasSubstr("variable DATA "));
  EXPECT_FALSE(hint_in("KeyError: 'loss'"));
  EXPECT_FALSE(hint_in("KeyError: '"));
  EXPECT_EQ(hint_in("jax: RESOURCE_EXHAUSTED: Out of memory")->status, ProgramStatus::out_of_memory);
}

}  // namespace
}  // namespace perfbench::adapter
