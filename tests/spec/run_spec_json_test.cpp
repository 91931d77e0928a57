// run.json: canonical text, strict reading.
#include "workloads/spec/run_spec_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "workloads/spec/run_spec.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::spec {
namespace {

using ::testing::HasSubstr;

nlohmann::json golden() {
  std::ifstream file(PERFBENCH_SOURCE_DIR "/tests/golden/run_id.json");
  return nlohmann::json::parse(file);
}

RunSpec golden_run() {
  return parse_run_json(golden()["run"].dump());
}

std::string mistake_in(const std::string& text) {
  try {
    parse_run_json(text);
  } catch (const SpecError& e) {
    return e.pointer() + ": " + e.what();
  }
  return "no error";
}

std::string changed(const std::function<void(nlohmann::json&)>& change) {
  auto run = golden()["run"];
  change(run);
  return mistake_in(run.dump());
}

TEST(RunJson, CanonicalTextDoesNotDependOnTheOrderOrTheSpacesOfTheInput) {
  const auto canonical = canonical_json(golden_run());
  EXPECT_EQ(canonical_json(parse_run_json(golden()["run"].dump(4))), canonical);
  const auto reversed = nlohmann::ordered_json::parse(golden()["run"].dump());
  nlohmann::ordered_json other;
  for (auto it = reversed.rbegin(); it != reversed.rend(); ++it) other[it.key()] = it.value();
  EXPECT_EQ(canonical_json(parse_run_json(other.dump())), canonical);
}

TEST(RunJson, CanonicalTextIsReadBackEqual) {
  const auto canonical = canonical_json(golden_run());
  EXPECT_EQ(canonical_json(parse_run_json(canonical)), canonical);
}

// So that the id of a run without dropout stays the same.
TEST(RunJson, OmitsDropoutIfThereIsNone) {
  auto run = golden_run();
  EXPECT_EQ(canonical_json(run).find("dropout"), std::string::npos);
  run.dropout.residual = 0.25;
  EXPECT_THAT(canonical_json(run), HasSubstr(R"("dropout":{"input":0.0,"layer_input":0.0,"residual":0.25})"));
  EXPECT_EQ(parse_run_json(canonical_json(run)).dropout, run.dropout);
  EXPECT_THAT(changed([](auto& other) {
                other["dropout"] = {{"input", -0.1}, {"layer_input", 0}, {"residual", 0}};
              }),
              HasSubstr("/dropout/input: "));
  EXPECT_THAT(changed([](auto& other) { other["dropout"] = {{"attention", 0.1}}; }), HasSubstr("/dropout"));
}

TEST(RunJson, StatesThatAdaptersAreMergedOnlyIfTheyAre) {
  auto run = golden_run();
  run.task = Task::lora;
  run.lora.rank = 8;
  run.evaluation.path = "set";
  EXPECT_THAT(canonical_json(run), HasSubstr(R"("lora":{"alpha":0.0,"rank":8,"targets":"all"})"));
  auto merged = run;
  merged.lora.merge = true;
  EXPECT_THAT(canonical_json(merged), HasSubstr(R"("lora":{"alpha":0.0,"merge":true,"rank":8,"targets":"all"})"));
  EXPECT_EQ(parse_run_json(canonical_json(merged)).lora, merged.lora);
  const auto found = difference(run, merged);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].field, "lora.merge");
}

TEST(RunJson, MustBeWhole) {
  EXPECT_THAT(changed([](auto& run) { run.erase("seed"); }), HasSubstr(": the key 'seed'"));
  EXPECT_THAT(changed([](auto& run) { run["model"]["position"].erase("kind"); }), HasSubstr("/model/position: "));
}

TEST(RunJson, RefusesUnknownKeysTypesAndVersions) {
  EXPECT_THAT(changed([](auto& run) { run["stepz"] = 1; }), HasSubstr("/stepz: unknown key 'stepz' (did you mean"));
  EXPECT_THAT(changed([](auto& run) { run["steps"] = "3"; }), HasSubstr("/steps: "));
  EXPECT_THAT(changed([](auto& run) { run["schema_version"] = 2; }), HasSubstr("/schema_version: "));
  EXPECT_THAT(changed([](auto& run) { run["mesh"]["ici"]["dp"] = 3; }), HasSubstr("does not divide"));
}

TEST(RunJson, SaysWhereTheTextStopsBeingJson) {
  EXPECT_THAT(mistake_in("{\n \"a\": 1,\n}"), HasSubstr("not JSON: parse error at line 3, column 1"));
  EXPECT_THAT(mistake_in(""), HasSubstr("not JSON"));
  EXPECT_THAT(mistake_in("[1]"), HasSubstr("mapping"));
  EXPECT_THAT(mistake_in("{\"a\": \"\xff\"}"), HasSubstr("not JSON"));
  EXPECT_THAT(mistake_in("{\"a\": 1e999}"), HasSubstr("not JSON"));
}

TEST(RunJson, RefusesAKeyGivenTwice) {
  EXPECT_EQ(mistake_in(R"({"steps": 1, "seed": {"steps": 2}, "steps": 3})"),
            ": the key 'steps' is given twice in one object");
}

TEST(RunJson, RefusesDeepNestingInsteadOfOverflowingTheStack) {
  EXPECT_THAT(mistake_in(std::string(1'000'000, '[')), HasSubstr("nested deeper than 64 levels"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_THAT(mistake_in(objects), HasSubstr("nested deeper than 64 levels"));
}

TEST(RunJson, DifferenceNamesTheFieldsThatDiffer) {
  auto left = golden_run();
  auto right = left;
  EXPECT_TRUE(difference(left, right).empty());
  right.mesh.ici.fsdp = 4;
  right.optimizer.learning_rate = 1e-3;
  const auto found = difference(left, right);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].field, "mesh.ici.fsdp");
  EXPECT_EQ(found[0].right, "4");
  EXPECT_EQ(found[1].field, "optimizer.learning_rate");
  EXPECT_EQ(found[1].right, "0.001");
}

// A run's identity is its text, in which the two zeros differ.
TEST(RunJson, DifferenceSeesTheSignOfZero) {
  auto left = golden_run();
  left.optimizer.weight_decay = 0.0;
  auto right = left;
  right.optimizer.weight_decay = -0.0;
  const auto found = difference(left, right);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].right, "-0.0");
}

// For any bytes, the outcome is a run or a SpecError.
TEST(RunJson, EndsInARunOrASpecErrorForMutatedFiles) {
  const std::string seed = golden()["run"].dump(1);
  const std::string alphabet = "{}[]:,\"\\0123456789eE.-+ntfa \n";
  std::mt19937 random(11);
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  int read = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = seed;
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
      const std::size_t where = below(text.size());
      switch (below(3)) {
        case 0:
          text[where] = alphabet[below(alphabet.size())];
          break;
        case 1:
          text.insert(where, 1 + below(3), alphabet[below(alphabet.size())]);
          break;
        default:
          text.erase(where, 1 + below(8));
      }
      if (text.empty()) text = "1";
    }
    try {
      parse_run_json(text);
      ++read;
    } catch (const SpecError&) {
      ++refused;
    }
  }
  EXPECT_GT(read, 10) << "a changed digit can still be a run";
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace perfbench::spec
