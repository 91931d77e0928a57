// The run.json of a training program has the program and what its user declared, and nothing that was made up.
#include "workloads/spec/run_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workloads/spec/run_spec.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::spec {
namespace {

using ::testing::HasSubstr;

constexpr const char* kRun =
    R"({"global_batch":8,"mesh":{"ici":{"fsdp":2}},"program":{"command":["python3","train.py"],)"
    R"("reader":"nanogpt","steps":40,"version":1},"schema_version":1,"seq_len":1024})";

TEST(RunProgram, JsonHoldsWhatWasDeclaredAndNothingElse) {
  const auto run = parse_recorded_run(kRun);
  ASSERT_NE(run.program, nullptr);
  EXPECT_EQ(canonical_json(run), kRun);
  EXPECT_EQ(run.seq_len, 1024);
  EXPECT_EQ(run.mesh.devices(), 2);
  EXPECT_EQ(run.program->spec.steps, 40);
}

TEST(RunProgram, SaysWhichFieldsWereDeclared) {
  const auto run = parse_recorded_run(kRun);
  EXPECT_TRUE(says(run, "seq_len"));
  EXPECT_TRUE(says(run, "mesh"));
  EXPECT_TRUE(says(run, "mesh.ici.fsdp"));
  EXPECT_TRUE(says_tokens(run));
  EXPECT_FALSE(says(run, "model"));
  EXPECT_FALSE(says(run, "precision"));
  EXPECT_FALSE(says(run, "mesh.ici.tp"));
  EXPECT_TRUE(says(RunSpec{}, "precision"));  // perfbench-engine resolves every field
}

TEST(RunProgram, DifferencesAreThoseOfDeclaredFieldsAndOfTheProgram) {
  auto other = parse_recorded_run(kRun);
  auto program = *other.program;
  program.spec.command = {"python3", "other.py"};
  other.program = std::make_shared<const RunProgram>(std::move(program));
  const auto found = difference(parse_recorded_run(kRun), other);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().field, "program.command");
}

TEST(RunProgram, IsRefusedByTheEngine) {
  try {
    parse_run_json(kRun);
    FAIL() << "the engine took a run of another program";
  } catch (const SpecError& e) {
    EXPECT_EQ(e.pointer(), "/program");
    EXPECT_THAT(e.what(), HasSubstr("perfbench-adapter"));
  }
}

TEST(RunProgram, UnknownKeysAreErrors) {
  EXPECT_THROW(parse_recorded_run(R"({"program":{"command":["a"],"comand":1},"schema_version":1})"), SpecError);
  EXPECT_THROW(parse_recorded_run(R"({"program":{"command":["a"]},"schema_version":1,"seq_length":3})"), SpecError);
}

}  // namespace
}  // namespace perfbench::spec
