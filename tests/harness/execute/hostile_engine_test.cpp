// The attempt ends, is recorded, and names the damaged file, whatever an engine leaves in its run directory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/evidence/run_directory.h"
#include "harness/evidence/run_evidence.h"
#include "harness/execute/attempt_execution.h"
#include "harness/system/run_id.h"
#include "tests/harness/example_run.h"
#include "tests/harness/fake_engine.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class HostileEngine : public testing::Test {
 protected:
  HostileEngine() {
    cell_.run = example_spec();
    cell_.run.seed = static_cast<std::int64_t>(fake::FakeBehaviour::first_ok);
    cell_.run_id = run_id(cell_.run);
  }
  // An engine that does its work and then runs these commands in its run directory.
  FinishedAttempt execute(
      const std::string& commands, fake::FakeBehaviour behaviour = fake::FakeBehaviour::first_ok,
      const StepsListener& on_steps = [](std::int64_t) {}) {
    cell_.run.seed = static_cast<std::int64_t>(behaviour);
    cell_.run_id = run_id(cell_.run);
    const auto engine = scratch_ / "engine.sh";
    write_text(engine, "#!/bin/sh\n" + std::string(PERFBENCH_FAKE_ENGINE) + " \"$@\"\ncode=$?\ncd \"$3\" || exit 9\n" +
                           commands + "\nexit $code\n");
    fs::permissions(engine, fs::perms::all);
    return execute_attempt(cell_, {.runs = scratch_ / "runs", .launcher = {.engine = {engine}, .cores = 1}}, on_steps);
  }
  static std::string in_place_of(const std::string& file, Damage damage) {
    const auto quoted = "'" + file + "'";
    switch (damage) {
      case Damage::cut_off:
        return "head -c 20 " + quoted + " > half; mv half " + quoted;
      case Damage::empty:
        return ": > " + quoted;
      case Damage::pipe:
        return "rm -f " + quoted + "; mkfifo " + quoted;
      case Damage::folder:
        return "rm -f " + quoted + "; mkdir " + quoted;
      case Damage::endless:
        return "rm -f " + quoted + "; ln -s /dev/zero " + quoted;
      case Damage::huge:
        break;
    }
    return "truncate -s 3G " + quoted;  // sparse, and just below the limit for files of an engine
  }

  ScratchFolder scratch_;
  Cell cell_{.matrix = "hostile", .label = "c"};
};

TEST_F(HostileEngine, DamagedRecordsAreACrashedAttemptThatNamesTheFile) {
  for (const auto* file : {kEnvironmentFile, kResultFile}) {
    for (const auto damage : kEveryDamage) {
      const auto finished = execute(in_place_of(file, damage));
      EXPECT_EQ(finished.record.state, AttemptState::crashed) << file << " " << damage_name(damage);
      EXPECT_THAT(finished.record.reason, HasSubstr(file)) << damage_name(damage);
      EXPECT_EQ(read_attempt(finished.directory)->reason, finished.record.reason);
    }
  }
  for (const auto damage : {Damage::pipe, Damage::folder, Damage::endless}) {
    const auto finished = execute(in_place_of("steps.rank0.jsonl", damage));
    EXPECT_EQ(finished.record.state, AttemptState::crashed) << damage_name(damage);
    EXPECT_THAT(finished.record.reason, HasSubstr("steps.rank0.jsonl")) << damage_name(damage);
  }
}

// Too few records are quarantined, as always.
TEST_F(HostileEngine, TruncatedStepsAreNotOk) {
  for (const auto damage : {Damage::cut_off, Damage::empty}) {
    EXPECT_EQ(execute(in_place_of("steps.rank0.jsonl", damage)).record.state, AttemptState::quarantined);
  }
}

TEST_F(HostileEngine, RemovingCountedStepsIsNotOk) {
  const auto counted = scratch_ / "counted";
  const auto once_counted = "while [ ! -e '" + counted.string() + "' ]; do sleep 0.01; done\n";
  for (const auto damage : {Damage::cut_off, Damage::empty}) {
    fs::remove(counted);
    const auto finished = execute(once_counted + in_place_of("steps.rank0.jsonl", damage),
                                  fake::FakeBehaviour::first_ok, [&](std::int64_t steps) {
                                    if (steps == cell_.run.steps) write_text(counted, "");
                                  });
    EXPECT_EQ(finished.record.state, AttemptState::quarantined) << damage_name(damage);
  }
}

TEST_F(HostileEngine, ChangedFilesOfTheHarnessAreRestored) {
  for (const auto damage : kEveryDamage) {
    const auto changed = execute(in_place_of(kRunFile, damage));
    EXPECT_EQ(changed.record.state, AttemptState::crashed) << damage_name(damage);
    EXPECT_THAT(changed.record.reason, HasSubstr("run.json was changed while the engine ran"));
    EXPECT_EQ(read_text(changed.directory / kRunFile), spec::canonical_json(cell_.run)) << damage_name(damage);
    const auto forged = execute(in_place_of(kAttemptFile, damage));
    EXPECT_EQ(forged.record.state, AttemptState::ok) << damage_name(damage);
    EXPECT_EQ(read_attempt(forged.directory)->run_id, cell_.run_id) << damage_name(damage);
  }
}

TEST_F(HostileEngine, WritingWithoutEndIsEndedByTheFileSizeLimit) {
  const auto finished = execute("exec truncate -s 5G steps.rank0.jsonl");
  EXPECT_EQ(finished.record.state, AttemptState::crashed);
  EXPECT_THAT(finished.record.reason, HasSubstr("no file of a run may hold more than 4 GiB"));
}

TEST_F(HostileEngine, ADamagedLogOrDamagedSamplesDoNotChangeTheState) {
  for (const auto* file : {kLogFile, "gpu.rank0.jsonl"}) {
    for (const auto damage : kEveryDamage) {
      // A log that is still open can be cut off anywhere without damage; samples of 3 GiB are read completely, which
      // takes long.
      if (damage == (file == kLogFile ? Damage::cut_off : Damage::huge)) continue;
      EXPECT_EQ(execute(in_place_of(file, damage)).record.state, AttemptState::ok)
          << file << " " << damage_name(damage);
    }
  }
}

TEST_F(HostileEngine, AFailureWithDamageReportsBoth) {
  const auto finished = execute(": > env.json", fake::FakeBehaviour::failed);
  EXPECT_EQ(finished.record.state, AttemptState::crashed);
  EXPECT_THAT(finished.record.reason, AllOf(HasSubstr("exit code 4"), HasSubstr("env.json is empty")));
}

}  // namespace
}  // namespace perfbench::harness
