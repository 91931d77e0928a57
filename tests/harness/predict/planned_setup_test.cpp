// Runs of a matrix are predicted as the published rows with the same settings.
#include "harness/predict/planned_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/matrix/model_catalog.h"
#include "tests/harness/predict/predictor_inputs.h"

namespace perfbench::predict {
namespace {

using testing::HasSubstr;

struct RunOfRow {
  std::string row;
  std::string stack;
  spec::RunSpec run;
};

spec::RunSpec run_of(const std::string& model, const std::string& hardware) {
  static const harness::ModelCatalog kCatalog(PERFBENCH_SOURCE_DIR);
  spec::RunSpec run;
  run.model = kCatalog.model(model).model;
  run.device = spec::Device::cuda;
  run.hardware = hardware;
  run.precision = spec::Precision::bf16;
  run.attention = spec::AttentionKind::flash;
  return run;
}

std::string reason_for(const spec::RunSpec& run, const std::string& stack) {
  const auto& data = shipped().data;
  const auto made = setup_of_run(run, data.stacks.at(stack), data);
  const auto* reason = std::get_if<std::string>(&made);
  return reason == nullptr ? "none" : *reason;
}

TEST(PlannedSetup, IsThatOfThePublishedRowWithTheSettingsOfTheRun) {
  auto maxtext = run_of("maxtext-llama2-7b", "h100");
  maxtext.mesh.ici.fsdp = 8;
  maxtext.global_batch = 16;
  maxtext.seq_len = 4096;
  maxtext.remat = "minimal_flash";
  maxtext.scan = false;

  auto pax = run_of("pax-gpt-5b", "h100");
  pax.mesh = {.ici = {.fsdp = 8}, .dcn = {.fsdp = 32}};
  pax.global_batch = 2048;
  pax.seq_len = 2048;
  pax.remat = "save_dot_with_no_batch_dims";
  pax.scan = true;
  auto pax_fp8 = pax;
  pax_fp8.precision = spec::Precision::fp8;

  auto replicated = run_of("pax-gpt-126m", "a100-80g");
  replicated.mesh = {.ici = {.dp = 8}, .dcn = {.dp = 8}};
  replicated.global_batch = 256;
  replicated.seq_len = 2048;
  replicated.attention = spec::AttentionKind::dot_product;
  replicated.scan = false;

  auto seqax = run_of("seqax-1b", "a100-80g");
  seqax.mesh.ici.fsdp = 8;
  seqax.global_batch = 64;
  seqax.seq_len = 1024;
  seqax.attention = spec::AttentionKind::dot_product;
  seqax.remat = "seqax";
  seqax.scan = true;

  const auto& data = shipped().data;
  for (const auto& [row, stack, run] :
       {RunOfRow{"maxtext/llama2-7b-8xh100", "xla-gpu-te", maxtext}, RunOfRow{"pax/5b-h100-tebf16", "xla-gpu-te", pax},
        RunOfRow{"pax/5b-h100-tefp8", "xla-gpu-te", pax_fp8},
        RunOfRow{"pax/126m-a100-tebf16", "xla-gpu-te", replicated}, RunOfRow{"seqax/1b-8xa100", "seqax", seqax}}) {
    const auto made = setup_of_run(run, data.stacks.at(stack), data);
    ASSERT_TRUE(std::holds_alternative<TrainingSetup>(made)) << row << ": " << std::get<std::string>(made);
    EXPECT_DOUBLE_EQ(step_time(step_parts(std::get<TrainingSetup>(made))).total_s,
                     step_time(shipped_row(row).parts).total_s)
        << row;
  }
}

TEST(PlannedSetup, DividesTheBatchAsTheEngineDoes) {
  auto run = run_of("pax-gpt-5b", "h100");
  run.mesh = {.ici = {.fsdp = 4, .tp = 2}, .dcn = {.dp = 2, .pp = 2}};
  run.pipeline_chunks = 3;
  run.global_batch = 64;
  run.grad_accum = 4;
  const auto& data = shipped().data;
  const auto made = setup_of_run(run, data.stacks.at("xla-gpu-te"), data);
  const auto& setup = std::get<TrainingSetup>(made);
  EXPECT_EQ(setup.devices, 32);
  EXPECT_EQ(setup.interleaving, 3);
  EXPECT_EQ(setup.microbatch, 2);
  EXPECT_EQ(setup.microbatches, 4);
  EXPECT_EQ(setup.replicas, 2);
  EXPECT_EQ(setup.shards(), 4);
}

TEST(PlannedSetup, TakesTheRestFromTheTaskAndTheStack) {
  auto run = run_of("pax-gpt-5b", "h100");
  run.task = spec::Task::lora;
  run.attention = spec::AttentionKind::flash;
  const auto& data = shipped().data;
  const auto made = setup_of_run(run, data.stacks.at("megatron-2024"), data);
  const auto& setup = std::get<TrainingSetup>(made);
  EXPECT_TRUE(setup.lora);
  EXPECT_EQ(setup.tp_overlap_fraction, 0.7);
  EXPECT_TRUE(setup.recomputes_last_product);
  EXPECT_EQ(setup.sharding, spec::ShardingKind::zero1);
}

TEST(PlannedSetup, SaysWhyThereIsNone) {
  const auto run = run_of("pax-gpt-5b", "a100-80g");
  EXPECT_EQ(reason_for(run, "xla-gpu-te"), "none");
  const auto changed = [&](auto change) {
    auto other = run;
    change(other);
    return reason_for(other, "xla-gpu-te");
  };
  EXPECT_THAT(changed([](auto& r) { r.hardware = "host"; }), HasSubstr("no figures for the hardware host"));
  EXPECT_THAT(changed([](auto& r) { r.precision = spec::Precision::fp32; }), HasSubstr("not for fp32"));
  EXPECT_THAT(changed([](auto& r) { r.precision = spec::Precision::fp8; }), HasSubstr("fp8 on a100-80g"));
  EXPECT_THAT(changed([](auto& r) { r.remat = "save_qkv_proj"; }), HasSubstr("remat=save_qkv_proj"));
  EXPECT_THAT(changed([](auto& r) { r.model.moe.n_experts = 8; }), HasSubstr("experts"));
  EXPECT_THAT(changed([](auto& r) { r.mesh.ici.ep = 2; }), HasSubstr("experts"));
  EXPECT_THAT(changed([](auto& r) { r.task = spec::Task::eval; }), HasSubstr("an evaluation"));
  EXPECT_THAT(changed([](auto& r) { r.scan = true; }), HasSubstr("scan=true with remat=none"));
  // Places of axes for which there is no formula.
  EXPECT_THAT(changed([](auto& r) { r.mesh.dcn.tp = 2; }), HasSubstr("across nodes"));
  EXPECT_THAT(changed([](auto& r) { r.mesh.ici.pp = 2; }), HasSubstr("stages inside a node"));
  EXPECT_THAT(changed([](auto& r) { r.mesh.ici = {.dp = 2, .fsdp = 4}; }), HasSubstr("replicas of sharded weights"));
  auto tpu = run_of("pax-gpt-5b", "tpu-v5e");
  EXPECT_EQ(reason_for(tpu, "xla-tpu"), "none");
  tpu.mesh.dcn.fsdp = 2;
  EXPECT_THAT(reason_for(tpu, "xla-tpu"), HasSubstr("several slices"));
  EXPECT_THAT(reason_for(run, "seqax"), HasSubstr("attention=flash by seqax on a100-80g"));
  EXPECT_THAT(reason_for(run, "xla-tpu"), HasSubstr("attention=flash by xla-tpu on a100-80g"));
}

}  // namespace
}  // namespace perfbench::predict
