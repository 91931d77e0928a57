#include "harness/plan/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/execute/process.h"
#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/yaml_document.h"
#include "harness/plan/plan_export.h"
#include "harness/system/parallel_ranges.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// 2 layers with 40 and 80 MiB of activations a layer; 1 MiB of weights each (fake_dry_engine.cpp).
const std::string kMatrix =
    "name: m\n"
    "defaults: {model: tiny-llama, seq_len: 40, global_batch: 8}\n";

std::vector<PlannedCell> plan_text(const std::string& text, TensorList tensors = TensorList::drop,
                                   const EngineProgram& engine = {PERFBENCH_FAKE_DRY_ENGINE}) {
  const ModelCatalog catalog(PERFBENCH_SOURCE_DIR "/tests/harness/matrix_data");
  auto expansion = expand(YamlDocument::parse(text, "matrix", "m.yaml"), catalog, {});
  return plan_cells(std::move(expansion.cells), {.engine = engine, .catalog = &catalog, .tensors = tensors});
}

std::string json_of(const std::string& matrix, const std::vector<PlannedCell>& plan) {
  std::string out;
  write_plan_json(matrix, plan, [&out](std::string_view part) { out += part; });
  return out;
}

std::string csv_of(const std::vector<PlannedCell>& plan) {
  std::string out;
  write_plan_csv("m", plan, [&out](std::string_view part) { out += part; });
  return out;
}

TEST(Plan, HoldsTheEnginesCountsOfEachCellInTheMatrixsOrder) {
  const auto plan = plan_text(kMatrix + "axes: {seq_len: [40, 80], fsdp: [1, 2]}\n");
  ASSERT_THAT(plan, SizeIs(4));
  EXPECT_EQ(plan[0].cell.label, "seq_len=40 fsdp=1");
  EXPECT_EQ(plan[0].state, PlanState::feasible);
  EXPECT_EQ(plan[0].counts->parameters, 2000);
  EXPECT_EQ(plan[0].counts->peak.total_bytes, (2 * 40 + 2) << 20);
  EXPECT_EQ(plan[3].counts->peak.total_bytes, (2 * 80 + 2) << 20);
  EXPECT_THAT(plan[1].counts->traffic, SizeIs(1));
  EXPECT_GT(plan[0].memory_available_bytes, plan[1].memory_available_bytes) << "two ranks share this machine";
}

// An engine of another night, which does not start with the libraries of this one.
TEST(Plan, AsksAnEngineWithItsOwnLibraries) {
  const auto engine = testing::TempDir() + "engine_of_another_night.sh";
  std::ofstream(engine)
      << "#!/bin/sh\n[ \"${LD_LIBRARY_PATH%%:*}\" = /kept ] || exit 127\nexec " PERFBENCH_FAKE_DRY_ENGINE " \"$@\"\n";
  std::filesystem::permissions(engine, std::filesystem::perms::all);
  EXPECT_EQ(plan_text(kMatrix, TensorList::drop, {engine}).at(0).state, PlanState::failed);
  EXPECT_EQ(plan_text(kMatrix, TensorList::drop, {engine, "/kept"}).at(0).state, PlanState::feasible);
}

TEST(Plan, AnswersManyCellsInOrderAlthoughSeveralProcessesCount) {
  // From five digits to four: the text of a later process's questions is shorter than the files that it overwrites.
  std::string chunks;
  for (int i = 12990; i > 7000; i -= 10) chunks += (chunks.empty() ? "" : ",") + std::to_string(i);
  const auto plan = plan_text(kMatrix + "axes: {loss_chunk_tokens: [" + chunks + "], model.layers: [2]}\n");
  ASSERT_THAT(plan, SizeIs(599));
  for (const auto& planned : plan) {
    ASSERT_EQ(planned.state, PlanState::feasible) << planned.reason;
    EXPECT_EQ(planned.counts->matmul_parameters, planned.cell.run.loss_chunk_tokens);
  }
}

// Two processes run, and neither would ever end by itself.
TEST(Plan, IsCancelledByAByteAlthoughEveryEngineHangs) {
  std::string layers;
  for (int i = 1; i <= 300; ++i) layers += (layers.empty() ? "" : ",") + std::to_string(i);
  const ModelCatalog catalog(PERFBENCH_SOURCE_DIR "/tests/harness/matrix_data");
  auto expansion =
      expand(YamlDocument::parse(kMatrix + "axes: {loss_chunk_tokens: [555], model.layers: [" + layers + "]}\n",
                                 "matrix", "m.yaml"),
             catalog, {});
  ASSERT_THAT(expansion.cells, SizeIs(300));
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  ASSERT_EQ(write(fds[1], "x", 1), 1);
  EXPECT_THROW(plan_cells(std::move(expansion.cells),
                          {.engine = {PERFBENCH_FAKE_DRY_ENGINE}, .catalog = &catalog, .cancel_fd = fds[0]}),
               Cancelled);
  close(fds[0]);
  close(fds[1]);
}

TEST(Plan, ACellAboveItsMemoryIsInfeasibleAndNamesTheLargestTensors) {
  const auto plan = plan_text(kMatrix + "axes: {seq_len: [40, 80]}\nrepeats: 1\n" +
                              "overrides: [{when: {steps: 10}, set: {memory_limit_bytes: 104857600}}]\n");
  EXPECT_EQ(plan.at(0).state, PlanState::feasible);
  EXPECT_EQ(plan.at(1).state, PlanState::infeasible);
  EXPECT_EQ(plan.at(1).reason,
            "needs 162 MiB per device, memory_limit_bytes has 100 MiB; largest: activations layers.*.mlpwi_0 160 MiB, "
            "weights layers.*.w_up 2.00 MiB");
}

TEST(Plan, ComparesMemoryWithTheNamedHardware) {
  const auto plan = plan_text(kMatrix + "axes: {hardware: [tiny-card]}\n");
  EXPECT_THAT(plan.at(0).reason, HasSubstr("needs 82.0 MiB per device, tiny-card has 64.0 MiB"));
}

// Kept weights may fill 60 of tiny-card's 64 MiB. Two layers take seq_len + 1 MiB each, and one MiB more with kept
// weights.
const std::string kOnAGpu = kMatrix +
                            "axes: {seq_len: [28, 29, 31, 32]}\n"
                            "overrides: [{when: {steps: 10}, set: {device: cuda, hardware: tiny-card";

TEST(Plan, KeepsTheBf16WeightsOfAGpuRunWhereTheyFit) {
  const auto plan = plan_text(kOnAGpu + ", precision: bf16}}]\n");
  using spec::Bf16Weights;
  const std::vector<std::pair<Bf16Weights, PlanState>> expected{{Bf16Weights::kept, PlanState::feasible},
                                                                {Bf16Weights::cast, PlanState::feasible},
                                                                {Bf16Weights::cast, PlanState::feasible},
                                                                {Bf16Weights::cast, PlanState::infeasible}};
  const std::vector<std::int64_t> mebibytes{60, 60, 64, 66};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(plan.at(i).cell.label);
    EXPECT_EQ(plan[i].cell.run.bf16_weights, expected[i].first);
    EXPECT_EQ(plan[i].state, expected[i].second);
    EXPECT_EQ(plan[i].memory_needed_bytes, mebibytes[i] << 20) << "counted as it is run";
    EXPECT_EQ(plan[i].counts->peak.total_bytes, mebibytes[i] << 20);
  }
  EXPECT_EQ(plan[0].bf16_weights_because,
            "with kept weights the run needs 60.0 MiB of the 64.0 MiB that tiny-card has");
  EXPECT_EQ(plan[1].bf16_weights_because,
            "with kept weights the run would need 62.0 MiB of the 64.0 MiB that tiny-card has, and may fill only "
            "60.0 MiB");
  EXPECT_THAT(plan[3].reason, HasSubstr("needs 66.0 MiB per device")) << "the reason is that of cast weights";
}

TEST(Plan, ARunWhoseWeightsThePlanKeepsEqualsTheRunThatRequestsIt) {
  const auto chosen = plan_text(kOnAGpu + ", precision: bf16}}]\n");
  const auto asked = plan_text(kOnAGpu + ", precision: bf16, bf16_weights: kept}}]\n");
  EXPECT_EQ(chosen.at(0).cell.run_id, asked.at(0).cell.run_id);
  EXPECT_EQ(asked.at(0).bf16_weights_because, "") << "there was no choice";
  EXPECT_EQ(asked.at(2).state, PlanState::infeasible) << "what was asked for is obeyed";
  const auto refused = plan_text(kOnAGpu + ", precision: bf16, bf16_weights: cast}}]\n");
  EXPECT_EQ(refused.at(0).cell.run.bf16_weights, spec::Bf16Weights::cast);
  EXPECT_NE(refused.at(0).cell.run_id, chosen.at(0).cell.run_id);
  EXPECT_EQ(refused.at(1).cell.run_id, chosen.at(1).cell.run_id);
}

TEST(Plan, CastsIfKeptWeightsAreUselessOrTheMemoryIsUnknown) {
  for (const auto* settings : {"{device: cuda, hardware: tiny-card}", "{hardware: tiny-card, precision: bf16}",
                               "{device: cuda, hardware: tiny-card, precision: bf16, rounding: stochastic}"}) {
    const auto plan = plan_text(kMatrix + "overrides: [{when: {steps: 10}, set: " + settings + "}]\n");
    EXPECT_EQ(plan.at(0).cell.run.bf16_weights, spec::Bf16Weights::cast) << settings;
    EXPECT_EQ(plan.at(0).bf16_weights_because, "") << settings;
  }
  const auto unknown = plan_text(kMatrix + "overrides: [{when: {steps: 10}, set: {device: cuda, precision: bf16}}]\n");
  EXPECT_EQ(unknown.at(0).cell.run.bf16_weights, spec::Bf16Weights::cast);
  EXPECT_THAT(unknown.at(0).bf16_weights_because, HasSubstr("name a `hardware`"));
}

TEST(Plan, ExportsSayWhichBf16WeightsWereChosenAndWhy) {
  const auto plan = plan_text(kOnAGpu + ", precision: bf16}}]\n");
  const auto json = nlohmann::json::parse(json_of("m", plan));
  EXPECT_EQ(json["cells"][0]["bf16_weights"], "kept");
  EXPECT_EQ(json["cells"][1]["bf16_weights"], "cast");
  EXPECT_EQ(json["cells"][1]["bf16_weights_because"], plan.at(1).bf16_weights_because);
  EXPECT_THAT(csv_of(plan), HasSubstr(",kept,with kept weights the run needs"));
}

TEST(Plan, CellsThatNeedNoCountingKeepTheirReason) {
  const auto plan = plan_text(kMatrix +
                              "axes: {fsdp: [1, 16], precision: [fp32, tf32]}\n"
                              "exclude: [{when: {fsdp: 1, precision: fp32}, reason: known}]\n");
  EXPECT_EQ(plan.at(0).state, PlanState::excluded);
  EXPECT_EQ(plan.at(0).reason, "known");
  EXPECT_EQ(plan.at(1).state, PlanState::infeasible);
  EXPECT_THAT(plan.at(1).reason, HasSubstr("tf32"));
  EXPECT_THAT(plan.at(2).reason, HasSubstr("does not divide over 16 data shards"));
  EXPECT_EQ(plan.at(2).counts, nullptr);
}

TEST(Plan, ACellTheEngineFailsOnDoesNotTakeTheOthersWithIt) {
  const auto plan = plan_text(kMatrix + "axes: {loss_chunk_tokens: [1, 66, 77, 88, 99, 2]}\n");
  EXPECT_EQ(plan.at(0).state, PlanState::feasible);
  EXPECT_EQ(plan.at(1).state, PlanState::failed);
  EXPECT_EQ(plan.at(1).reason, "the engine was ended by signal 9: fake engine: not a report");
  EXPECT_EQ(plan.at(2).reason, "the engine ended with code 4 and without a report: out of patience");
  EXPECT_EQ(plan.at(3).state, PlanState::infeasible);
  EXPECT_EQ(plan.at(3).reason, "no kernels for this");
  EXPECT_EQ(plan.at(4).state, PlanState::failed);
  EXPECT_THAT(plan.at(4).reason, HasSubstr("the engine's report cannot be read"));
  EXPECT_EQ(plan.at(5).state, PlanState::feasible);
}

std::vector<PlannedCell> plan_within(const DryLimits& limits, const std::string& chunks, int layers = 1) {
  std::string more;
  for (int i = 1; i <= layers; ++i) more += (i == 1 ? "" : ",") + std::to_string(i);
  const ModelCatalog catalog(PERFBENCH_SOURCE_DIR "/tests/harness/matrix_data");
  auto expansion = expand(
      YamlDocument::parse(kMatrix + "axes: {loss_chunk_tokens: [" + chunks + "], model.layers: [" + more + "]}\n",
                          "matrix", "m.yaml"),
      catalog, {});
  return plan_cells(std::move(expansion.cells),
                    {.engine = {PERFBENCH_FAKE_DRY_ENGINE}, .catalog = &catalog, .limits = limits});
}

// 600 cells in three processes: the engine would hang on each of them.
TEST(Plan, AnEngineThatNeverAnswersIsGivenUpAfterOneTimeLimit) {
  const auto plan = plan_within({.time = std::chrono::milliseconds(200)}, "555", 600);
  ASSERT_THAT(plan, SizeIs(600));
  for (const auto& planned : plan) {
    EXPECT_EQ(planned.state, PlanState::failed);
    EXPECT_THAT(planned.reason, HasSubstr("the engine gave no count within 0.2 s"));
  }
  EXPECT_THAT(plan.back().reason, HasSubstr("not counted because of another cell: the engine gave no count"));
}

TEST(Plan, AnEngineThatPrintsWithoutEndIsStoppedByItsSize) {
  const auto plan = plan_within({.output_bytes = 100'000}, "1,666,2");
  EXPECT_EQ(plan.at(0).state, PlanState::feasible) << "what it had counted before counts";
  EXPECT_THAT(plan.at(1).reason, HasSubstr("the engine printed more than 100000 bytes and no count"));
  EXPECT_LT(plan.at(1).reason.size(), 1000U);
  EXPECT_EQ(plan.at(2).state, PlanState::failed);
}

TEST(Plan, AnEngineThatLeavesAPipeForItsOutputDoesNotBlock) {
  const auto plan = plan_within({}, "777,2");
  EXPECT_EQ(plan.at(0).state, PlanState::failed);
  EXPECT_THAT(plan.at(0).reason, HasSubstr("is a pipe"));
  EXPECT_EQ(plan.at(1).state, PlanState::feasible);
}

// Steps, seeds and learning rates do not change counts, so a large matrix has few different ones.
TEST(Plan, CellsOfEqualCountsAreAskedAboutOnce) {
  const ScratchFolder scratch;
  const auto engine = scratch / "engine";
  write_text(engine, "#!/bin/sh\nfor file in \"$@\"; do echo \"$file\" >> " + (scratch / "asked").string() +
                         "; done\nexec " PERFBENCH_FAKE_DRY_ENGINE " \"$@\"\n");
  std::filesystem::permissions(engine, std::filesystem::perms::owner_all);
  const auto plan =
      plan_text(kMatrix +
                    "axes: {steps: [1, 2, 3], seed: [4, 5], optimizer.learning_rate: [0.1, 0.2], seq_len: [40, 80],\n"
                    "       memory_limit_bytes: [104857600]}\n",
                TensorList::drop, {engine});
  ASSERT_THAT(plan, SizeIs(24));
  EXPECT_EQ(read_text(scratch / "asked"), "dry\n--lines\n--largest\n3\nruns.0\n");
  for (const auto& planned : plan) {
    const auto seq_len = planned.cell.run.seq_len;
    ASSERT_NE(planned.counts, nullptr) << planned.cell.label;
    EXPECT_EQ(planned.counts->peak.activations_bytes, (2 * seq_len) << 20) << planned.cell.label;
    EXPECT_EQ(planned.state, seq_len == 80 ? PlanState::infeasible : PlanState::feasible) << planned.cell.label;
  }
}

TEST(Plan, AnOlderEngineThatNamesEveryTensorIsUnderstood) {
  const ScratchFolder scratch;
  const auto engine = scratch / "engine";
  write_text(engine,
             "#!/bin/sh\ncase \"$*\" in *--l*) echo \"dry has no option '--lines'\" >&2; exit 3;; esac\n"
             "exec " PERFBENCH_FAKE_DRY_ENGINE " \"$@\"\n");
  std::filesystem::permissions(engine, std::filesystem::perms::owner_all);
  const auto matrix = kMatrix + "axes: {seq_len: [40, 80]}\n";
  const auto plan = plan_text(matrix, TensorList::drop, {engine});
  ASSERT_EQ(json_of("m", plan), json_of("m", plan_text(matrix)));
  EXPECT_THAT(plan.at(0).counts->largest, SizeIs(2));
  EXPECT_THAT(plan.at(0).counts->live_at_peak, SizeIs(0));
}

TEST(Plan, AMissingEngineIsASeparateError) {
  EXPECT_THROW(plan_text(kMatrix, TensorList::drop, {"/nonexistent/perfbench-engine"}), LaunchError);
}

// 44 layers of 40 + 1 MiB exist at once; the arena that holds them, including its gaps, has to fit.
TEST(Plan, ShowsTheMemoryThatDecidesAndTheMemoryInUse) {
  const auto plan = plan_text(kMatrix + "axes: {model.layers: [44], memory_limit_bytes: [2147483648]}\n");
  EXPECT_EQ(plan.at(0).state, PlanState::infeasible);
  EXPECT_EQ(plan.at(0).memory_available_bytes, 2LL << 30);
  const auto json = nlohmann::json::parse(json_of("m", plan))["cells"][0];
  EXPECT_EQ(json["memory_needed_bytes"], 2LL * 44 * 41 << 20);
  EXPECT_EQ(json["peak"]["total_bytes"], 44LL * 41 << 20);
  EXPECT_THAT(csv_of(plan), HasSubstr(",memory_available_bytes,memory_needed_bytes,"));
}

TEST(Plan, JsonHasRawAmountsWithTheUnitInTheKey) {
  const auto plan = plan_text(kMatrix + "axes: {fsdp: [2, 16]}\n");
  const auto json = nlohmann::json::parse(json_of("m", plan));
  EXPECT_EQ(json["cells"][0]["peak"]["total_bytes"], 82 << 20);
  EXPECT_EQ(json["cells"][0]["flops"]["feed_forward_flops"], 1'234'000'000);
  EXPECT_EQ(json["cells"][0]["traffic"][0]["sent_bytes"], 500);
  EXPECT_FALSE(json["cells"][0]["traffic"][0].contains("exposed_ns")) << "a plan waits for nothing";
  EXPECT_EQ(json["cells"][0]["run_id"].get<std::string>().size(), 64U);
  EXPECT_EQ(json["cells"][1]["state"], "infeasible");
  EXPECT_FALSE(json["cells"][1].contains("peak"));
}

TEST(Plan, JsonIsIndentedAsOneDocument) {
  const auto text = json_of("a \"name\"", plan_text(kMatrix + "axes: {fsdp: [2, 16]}\n"));
  EXPECT_EQ(text, nlohmann::json::parse(text).dump(1) + "\n");
  const auto none = nlohmann::json::parse(json_of("m", {}));
  EXPECT_TRUE(none["cells"].is_array() && none["cells"].empty());
}

TEST(Plan, CsvRowsHaveAsManyFieldsAsTheHeading) {
  const auto text = csv_of(plan_text(kMatrix + "axes: {fsdp: [2, 16]}\n"));
  std::vector<std::size_t> commas;
  std::size_t quotes = 0;
  std::size_t count = 0;
  for (const char c : text) {
    quotes += c == '"' ? 1U : 0U;
    count += c == ',' && quotes % 2 == 0 ? 1U : 0U;
    if (c == '\n') {
      commas.push_back(count);
      count = 0;
    }
  }
  EXPECT_THAT(commas, testing::ElementsAre(commas.at(0), commas.at(0), commas.at(0)));
}

TEST(Plan, TensorsAtThePeakAreKeptOnRequest) {
  const auto plan = plan_text(kMatrix, TensorList::keep);
  EXPECT_THAT(json_of("m", plan), HasSubstr("layers.1.w_up"));
  EXPECT_THAT(json_of("m", plan_text(kMatrix)), testing::Not(HasSubstr("layers.1.w_up")));
}

// Two layers of 40 + 1 MiB: the first of two stages needs 82 MiB, the second one 164.
TEST(Plan, APipelineShowsEachStageAndTheOneThatNeedsMostDecides) {
  const std::string pipeline = kMatrix + "axes: {memory_limit_bytes: [130000000, 180000000]}\n" +
                               "overrides: [{when: {device: cpu}, set: {pp: 2, grad_accum: 2}}]\n";
  const auto plan = plan_text(pipeline);
  ASSERT_EQ(plan.size(), 2U);
  for (const auto& planned : plan) {
    EXPECT_EQ(needed_by_all(planned.cell.run, *planned.counts), 3LL * 82 << 20);
    const bool fits = planned.cell.run.memory_limit_bytes == 180'000'000;
    EXPECT_EQ(planned.state, fits ? PlanState::feasible : PlanState::infeasible);
    if (!fits) {
      EXPECT_THAT(planned.reason, HasSubstr("needs 164 MiB per device in stage 1 of 2, memory_limit_bytes has"));
    }
  }
  const auto json = nlohmann::json::parse(json_of("m", plan))["cells"][1];
  EXPECT_EQ(json["rank"], 1);
  EXPECT_EQ(json["bubble_fraction"], 0.25);
  EXPECT_EQ(json["stages"][0]["arena_bytes"], 82 << 20);
  EXPECT_THAT(csv_of(plan), HasSubstr(",arena_bytes,rank,bubble_fraction,"));
}

// The joint need of stages on one machine: 82 and 164 MiB fit where twice the larger one would not.
TEST(RunnableHere, EachStageHasItsOwnNeed) {
  auto planned = plan_text(kMatrix + "overrides: [{when: {device: cpu}, set: {pp: 2, grad_accum: 2}}]\n").at(0);
  planned.cell.run.hardware = "h100";
  EXPECT_EQ(not_runnable_here(planned, {.memory_bytes = std::int64_t{250} << 20, .cuda = "absent"}), std::nullopt);
  EXPECT_THAT(not_runnable_here(planned, {.memory_bytes = std::int64_t{240} << 20, .cuda = "absent"}).value_or(""),
              HasSubstr("planned only: 2 ranks need 123 MiB each"));
}

PlannedCell planned_for(const std::string& words) {
  return plan_text("name: m\ndefaults: {model: tiny-llama, seq_len: 40, global_batch: 1024, " + words + "}\n").at(0);
}

TEST(RunnableHere, ACudaCellNeedsAnEngineWithCuda) {
  const auto planned = planned_for("device: cuda, hardware: host");
  EXPECT_THAT(not_runnable_here(planned, {.cuda = "absent"}).value_or(""), HasSubstr("planned only: device cuda"));
  EXPECT_EQ(not_runnable_here(planned, {.cuda = "13.0", .gpus = 1, .gpu_memory_bytes = std::int64_t{80} << 30}),
            std::nullopt);
  EXPECT_THAT(not_runnable_here(planned, {.cuda = "13.0", .gpu_model = "NVIDIA H200", .gpus = 1, .gpu_memory_bytes = 1})
                  .value_or(""),
              HasSubstr("a NVIDIA H200 has 1 B"));
  EXPECT_EQ(not_runnable_here(planned, {.cuda = "13.0", .gpu_problem = "no driver"}),
            "planned only: device cuda, but no GPU can be used here: no driver");
  EXPECT_EQ(no_gpus_for(4, {.cuda = "13.0", .gpus = 1}), "device cuda with 4 ranks, but this machine has 1 GPU");
  EXPECT_EQ(no_gpus_for(8, {.cuda = "13.0", .gpus = 8}), std::nullopt);
}

// 82 MiB a rank (see above): 512 of them need 41 GiB.
TEST(RunnableHere, RanksPlannedForOtherDevicesMustFitThisMachine) {
  auto planned = planned_for("fsdp: 512");
  planned.cell.run.hardware = "h100";
  EXPECT_EQ(not_runnable_here(planned, {.memory_bytes = std::int64_t{24} << 30, .cuda = "absent"}),
            "planned only: 512 ranks need 82.0 MiB each, but this machine has 24.0 GiB in all");
  EXPECT_EQ(not_runnable_here(planned, {.memory_bytes = std::int64_t{42} << 30, .cuda = "absent"}), std::nullopt);
}

}  // namespace
}  // namespace perfbench::harness
