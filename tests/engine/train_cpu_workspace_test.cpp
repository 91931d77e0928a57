// The planned workspace of the cpu backend, compared with what a step requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/core/error.h"
#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/workspace.h"
#include "engine/train/assembly.h"
#include "tests/engine/evaluated_rows.h"
#include "tests/engine/example_runs.h"

namespace perfbench::engine {
namespace {

constexpr std::int64_t kLineBytes = Carver::kAlign * size_bytes(DType::f32);

// Gets a smaller workspace than the trainer has.
class ShortOps : public cpu::CpuOps {
 public:
  explicit ShortOps(std::int64_t missing_bytes) : missing_bytes_(missing_bytes) {}
  void use_workspace(TensorView workspace) override {
    CpuOps::use_workspace(
        workspace.slice(0, Shape{(workspace.bytes() - missing_bytes_) / size_bytes(workspace.dtype)}));
  }

 private:
  std::int64_t missing_bytes_;
};

// One step of one rank, to which the others send nothing: its shapes are realistic, its values are not. Returns whether
// the workspace sufficed.
bool has_enough(const spec::RunSpec& run, std::int64_t rank, std::int64_t missing_bytes) {
  Backend backend;
  backend.device_memory = make_cpu_backing();
  backend.host_memory = make_cpu_backing();
  backend.ops = std::make_unique<ShortOps>(missing_bytes);
  backend.collectives = make_dry_collectives(Mesh(run.mesh, rank), communication(run));
  RunData data{.tokens = make_token_source(run), .evaluation = evaluation_of(run)};
  Assembly assembly(run, std::move(backend), {.data = std::move(data)});
  try {
    assembly.trainer().step(0);
    assembly.trainer().evaluate_at_end();
  } catch (const LogicFault& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("bytes of workspace, has "));
    return false;
  }
  return true;
}

struct Case {
  std::string what;
  spec::RunSpec run;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto precision : {spec::Precision::fp32, spec::Precision::bf16, spec::Precision::fp8}) {
    for (const auto& tiny : {gpt_tiny(), llama_tiny(), qwen3_tiny()}) {
      auto run = tiny;
      run.precision = precision;
      run.steps = 1;
      const std::string name = run.model.name + " " + std::string(spec::enum_name(precision));
      all.push_back({name, run});
      run.model.d_ff = 1;  // attention is the largest
      all.push_back({name + ", narrow", run});
      run.model.d_ff = 4099;  // products wider than a panel
      all.push_back({name + ", wide", run});
      run.mesh.ici.tp = 4;  // not divided evenly
      all.push_back({name + ", wide over tp", run});
      run.mesh.ici.tp = 1;
      run.model.d_ff = 40;
      run.model.vocab_size = 2101;  // the head is the largest
      run.loss_chunk_tokens = 48;   // out of 128 tokens
      all.push_back({name + ", many tokens", run});
      run.grad_accum = 2;
      run.mesh.ici.tp = 2;
      all.push_back({name + ", many tokens over tp", run});
      run.mesh.ici.tp = 1;
      run.model.d_model = 1100;  // the head's products go panel by panel
      run.model.layers = 1;
      all.push_back({name + ", panels", run});
    }
    for (auto run : {lora_tiny(), lora_mlp_tiny()}) {
      run.precision = precision;
      run.steps = 1;
      const std::string name = run.model.name + " " + std::string(spec::enum_name(precision));
      all.push_back({name, run});
      run.lora.rank = 1201;  // adapters are the largest
      all.push_back({name + ", of a high rank", run});
      run.mesh.ici.tp = 2;
      all.push_back({name + ", of a high rank over tp", run});
      run.lora.rank = 40;  // with few tokens products are small, and merging is the largest
      run.lora.merge = true;
      run.evaluation.path = "made up";
      run.seq_len = 4;
      run.global_batch = 1;
      all.push_back({name + ", merged over tp", run});
      run.mesh.ici.tp = 4;  // each rank has both of lora-tiny's two key and value heads
      all.push_back({name + ", merged over more tp", run});
      run.mesh.ici.tp = 1;
      all.push_back({name + ", merged", run});
    }
  }
  return all;
}

// The data decides how many rows an expert has, so the plan is for the most: each token goes to both of two experts.
std::vector<Case> cases_of_experts() {
  std::vector<Case> all;
  for (const auto precision : {spec::Precision::fp32, spec::Precision::bf16, spec::Precision::fp8}) {
    auto two_chosen = dropless_tiny();
    two_chosen.model.name = "two experts";
    two_chosen.model.moe.n_experts = 2;
    auto capacity = dropless_tiny();
    capacity.model.name = "capacity";
    capacity.model.moe.capacity_factor = 1.5;
    for (auto run : {two_chosen, capacity, glam_tiny()}) {
      run.precision = precision;
      run.steps = 1;
      run.model.moe.d_ff = 1501;  // experts are the largest; wider than a panel
      const std::string name = run.model.name + " " + std::string(spec::enum_name(precision));
      all.push_back({name, run});
      run.grad_accum = 2;
      run.mesh.ici.tp = 2;  // not divided evenly
      all.push_back({name + ", over tp", run});
      run.grad_accum = 1;
      run.mesh.ici.tp = 1;
      run.model.moe.n_experts = 300;  // the router is the largest
      run.model.moe.d_ff = 1;
      all.push_back({name + ", router", run});
    }
  }
  return all;
}

TEST(CpuWorkspace, HoldsExactlyWhatAStepTakes) {
  const int threads_before = omp_get_max_threads();
  omp_set_num_threads(1);  // the runs are small, and the plan does not depend on threads
  auto all = cases();
  for (auto& of_experts : cases_of_experts()) all.push_back(std::move(of_experts));
  for (const auto& [what, run] : all) {
    const std::int64_t ranks = run.mesh.devices();
    bool needs_all = false;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      EXPECT_TRUE(has_enough(run, rank, 0)) << what << " rank " << rank;
      needs_all = needs_all || !has_enough(run, rank, kLineBytes);
    }
    EXPECT_TRUE(needs_all) << what;
  }
  omp_set_num_threads(threads_before);
}

// An embedding's products are as large as the head's, and f32 logits need no buffer for rounding.
TEST(CpuWorkspace, HoldsWhatTheAlternativeEndsOfTheModelTake) {
  for (auto& [what, run] : cases()) {
    run.embedding = spec::EmbeddingKind::one_hot;
    if (spec::computes_in_bf16(run.precision)) run.logits = spec::LogitsType::fp32;
    for (std::int64_t rank = 0; rank < run.mesh.devices(); ++rank) {
      EXPECT_TRUE(has_enough(run, rank, 0)) << what << " rank " << rank;
    }
  }
}

// A panel for a longer k may be smaller, so a plan for the longest slice of several ranks would be too small for
// another rank.
TEST(CpuWorkspace, PlansPanelsThatNeverShrink) {
  namespace ws = workspace::cpu;
  EXPECT_LT(ws::panel_outer(2049, 1024) * 2049, ws::panel_outer(2048, 1024) * 2048);
  for (const std::int64_t outer : {1, 63, 64, 65, 700, 1023, 1024, 1025, 100'000}) {
    std::int64_t before = 0;
    for (std::int64_t k = 1; k < 300'000; k += k < 5000 ? 1 : 97) {
      const std::int64_t planned = ws::panel_floats(k, outer);
      ASSERT_GE(planned, ws::panel_outer(k, outer) * k) << k << " " << outer;
      ASSERT_GE(planned, before) << k << " " << outer;
      ASSERT_GE(ws::panel_floats(k, outer + 1), planned) << k << " " << outer;
      before = planned;
    }
  }
}

}  // namespace
}  // namespace perfbench::engine
