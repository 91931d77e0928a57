// The dry walk compared with closed forms that share no code with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <type_traits>

#include "engine/sharding/unit.h"
#include "engine/train/dry_walk.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/unit_layouts.h"
#include "workloads/spec/dry_counts.h"
#include "workloads/spec/parameter_table.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::engine {
namespace {

// 6 N_m + 6 L h e T per token, the causal definition (Megatron since 2025-03, MaxText since 2025-07, llm.c).
std::int64_t causal_step_flops(const spec::RunSpec& run) {
  const auto& m = run.model;
  const std::int64_t per_token =
      6 * spec::count_parameters(m).matmul_active + 6 * m.layers * m.n_heads * m.head_dim * run.seq_len;
  return per_token * run.global_batch * run.seq_len / run.mesh.devices();
}

// Also for experts that drop nothing: each token goes to as many experts as the definition says.
TEST(DryWalk, ModelFlopsAreTheCausalDefinition) {
  for (auto run : {gpt_tiny(), llama_tiny(), t5_tiny(), dropless_tiny()}) {
    for (const auto kind : {spec::AttentionKind::flash, spec::AttentionKind::dot_product}) {
      run.attention = kind;
      for (const std::int64_t accumulate : {1, 2}) {
        run.grad_accum = accumulate;
        EXPECT_EQ(dry_walk(run, 0).flops.model_flops(), causal_step_flops(run));
      }
    }
    run.grad_accum = 1;
    run.mesh.ici.fsdp = 4;
    EXPECT_EQ(dry_walk(run, 3).flops.model_flops(), causal_step_flops(run));
  }
}

// One sequence of 13 tokens, three heads: half of 507 pairs is not a whole number, half of their FLOPs is.
TEST(DryWalk, AnOddCausalSquareIsHalvedExactly) {
  auto run = gpt_tiny();
  run.model.n_heads = 3;
  run.model.n_kv_heads = 3;
  run.model.head_dim = 5;
  run.seq_len = 13;
  run.global_batch = 1;
  EXPECT_EQ(dry_walk(run, 0).flops.model_flops(), causal_step_flops(run));
}

// The slots of a capacity are computed whether used or not: for 16 tokens and eight experts ceil4(2 * 16/8) = 4 slots
// of each expert for a sequence, instead of the tokens' 32 choices.
TEST(DryWalk, SlotsOfACapacityAreComputedUsedOrNot) {
  auto run = glam_tiny();
  const auto& m = run.model;
  const auto with = dry_walk(run, 0).flops.model_flops();
  const std::int64_t layers = 2;  // of the three layers, with experts
  const std::int64_t weights = 2 * m.d_model * m.moe.d_ff;
  EXPECT_EQ(with, causal_step_flops(run) + 6 * layers * run.global_batch * (8 * 4 - 32) * weights);
  run.model.moe.capacity_factor = 3.0;  // ceil4(6) = 8 slots
  EXPECT_EQ(dry_walk(run, 0).flops.model_flops(),
            causal_step_flops(run) + 6 * layers * run.global_batch * (8 * 8 - 32) * weights);
}

// `full` recomputes each layer's products except the down projection, whose output is not needed.
TEST(DryWalk, FullRematRepeatsTheForwardButTheDownProjection) {
  auto run = llama_tiny();
  run.remat = "full";
  const auto& m = run.model;
  const std::int64_t tokens = run.global_batch * run.seq_len;
  const std::int64_t attention = 2 * tokens * m.d_model * m.head_dim * (2 * m.n_heads + 2 * m.n_kv_heads);
  const std::int64_t scores = 2 * tokens * m.n_heads * m.head_dim * run.seq_len;
  const std::int64_t inputs = 2 * tokens * m.d_model * m.d_ff * 2;
  EXPECT_EQ(dry_walk(run, 0).flops.rematerialised_flops, m.layers * (attention + scores + inputs));
  run.remat = "none";
  EXPECT_EQ(dry_walk(run, 0).flops.rematerialised_flops, 0);
}

TEST(DryWalk, PoliciesThatKeepLessNeedLessAndComputeMore) {
  auto run = llama_tiny();
  run.model.layers = 12;
  std::int64_t last_bytes = INT64_MAX;
  std::int64_t last_flops = -1;
  for (const char* policy :
       {"none", "minimal_flash", "save_dot_with_context_except_mlp", "save_dot_except_mlp", "save_qkv_proj", "full"}) {
    run.remat = policy;
    const auto report = dry_walk(run, 0);
    EXPECT_LT(report.peak.total_bytes, last_bytes) << policy;
    EXPECT_GE(report.flops.rematerialised_flops, last_flops) << policy;
    last_bytes = report.peak.total_bytes;
    last_flops = report.flops.rematerialised_flops;
  }
}

std::int64_t rounded(std::int64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

// With overlap, two layers are gathered and two whole gradients alive at once; without, one of each. In f32 both are as
// large as the layer. The table of the vocabulary is small, so that layers decide the peak.
TEST(DryWalk, OverlappingCommunicationCostsASecondLayersWeightsAndGradient) {
  auto run = llama_tiny();
  run.model.vocab_size = 64;
  run.model.layers = 4;
  run.mesh.ici.fsdp = 4;
  std::int64_t layer_bytes = 0;
  for (const auto& p : spec::parameter_table(run.model)) layer_bytes += p.layer == 1 ? 4 * p.elements() : 0;
  run.fsdp_prefetch = 1;
  const auto overlapped = dry_walk(run, 0).peak.gathered_bytes;
  run.fsdp_prefetch = 0;
  const auto alone = dry_walk(run, 0).peak.gathered_bytes;
  // Alignment: 64 bytes a parameter, in each of the two buffers.
  const auto slack = 2 * 64 * static_cast<std::int64_t>(spec::parameter_table(run.model).size());
  EXPECT_NEAR(static_cast<double>(alone), static_cast<double>(2 * layer_bytes), static_cast<double>(slack));
  EXPECT_NEAR(static_cast<double>(overlapped), static_cast<double>(4 * layer_bytes), static_cast<double>(2 * slack));
}

// If the vocabulary decides it, the peak is at the loss, where the last layer waits for its backward pass.
TEST(DryWalk, KeepingTheLastLayerCostsItsWeightsBesideTheLoss) {
  auto run = llama_tiny();
  run.model.vocab_size = 5000;
  run.mesh.ici.fsdp = 4;
  run.fsdp_prefetch = 1;
  const auto kept = dry_walk(run, 0).peak.gathered_bytes;
  run.fsdp_prefetch = 0;
  const auto alone = dry_walk(run, 0).peak.gathered_bytes;
  EXPECT_EQ(kept - alone, rounded(unit_layouts(run.model, Mesh(run.mesh, 0)).at(1).elements * 4));
}

// With one rank along fsdp nothing is sent: rounding the next layer's weights early would only hold memory.
TEST(DryWalk, NothingIsGatheredAheadIfNothingIsSent) {
  auto run = llama_tiny();
  run.precision = spec::Precision::bf16;
  run.model.vocab_size = 64;
  run.mesh.ici.dp = 2;
  run.fsdp_prefetch = 1;
  const auto ahead = spec::to_json_line(dry_walk(run, 0));
  run.fsdp_prefetch = 0;
  EXPECT_EQ(ahead, spec::to_json_line(dry_walk(run, 0)));
}

// Master weights, gradients and two moments: four f32 per parameter, cut over fsdp; alignment takes at most 64 bytes a
// parameter, padding to the shards at most 64 bytes a shard and unit, and the arena at most 256 bytes a unit.
TEST(DryWalk, StatesAreCutOverFsdpAndCopiedOverDp) {
  auto run = gpt_tiny();
  run.global_batch = 16;
  const auto table = spec::parameter_table(run.model);
  const std::int64_t states = 4 * spec::count_parameters(run.model).total;
  for (const std::int64_t fsdp : {1, 2, 8}) {
    run.mesh.ici = {.dp = 2, .fsdp = fsdp};
    const auto peak = dry_walk(run, 0).peak;
    const auto slack = static_cast<std::int64_t>(table.size()) * 64 + (run.model.layers + 2) * 64 * fsdp;
    EXPECT_GE(peak.weights_bytes, states / fsdp);
    EXPECT_LE(peak.weights_bytes, (states + slack) / fsdp + 256 * (run.model.layers + 2));
    EXPECT_EQ(peak.gradients_bytes, peak.weights_bytes);
    EXPECT_EQ(peak.optimizer_bytes, 2 * peak.weights_bytes);
  }
}

// The copy takes 2 bytes a parameter beside 4 of the master weights; with one rank along fsdp nothing else is gathered.
TEST(DryWalk, KeptBf16WeightsCostTwoBytesAParameterAndSaveTheGatheredOnes) {
  auto run = llama_tiny();
  run.precision = spec::Precision::bf16;
  for (const std::int64_t fsdp : {1, 4}) {
    run.mesh.ici.fsdp = fsdp;
    run.bf16_weights = spec::Bf16Weights::cast;
    const auto cast = dry_walk(run, 0);
    run.bf16_weights = spec::Bf16Weights::kept;
    const auto kept = dry_walk(run, 0);
    const std::int64_t more = 2 * spec::count_parameters(run.model).total / fsdp;
    const std::int64_t rounding = 256 * (run.model.layers + 2);
    EXPECT_GE(kept.peak.weights_bytes - cast.peak.weights_bytes, more - rounding);
    EXPECT_LE(kept.peak.weights_bytes - cast.peak.weights_bytes, more + rounding);
    EXPECT_EQ(kept.peak.optimizer_bytes, cast.peak.optimizer_bytes);
    EXPECT_LT(kept.peak.gathered_bytes, cast.peak.gathered_bytes);
    if (fsdp == 1) {
      EXPECT_EQ(kept.peak.gathered_bytes, 0);
    }
    for (std::size_t i = 0; i < cast.traffic.size(); ++i) {
      EXPECT_EQ(kept.traffic.at(i).payload_bytes, cast.traffic[i].payload_bytes);
    }
  }
}

TEST(DryWalk, FsdpTrafficIsTwoGathersAndOneReductionOfEveryLayer) {
  auto run = llama_tiny();
  run.mesh.ici.fsdp = 4;
  const std::int64_t units = run.model.layers + 2;
  for (const std::int64_t prefetch : {0, 1}) {
    run.fsdp_prefetch = prefetch;
    std::map<std::string, spec::AxisTraffic> by_kind;
    for (const auto& t : dry_walk(run, 0).traffic) {
      if (t.axis == "fsdp") by_kind[t.collective] = t;
    }
    // Forward and backward for layers, once for the embedding lookup and once for the head. A run with memory to gather
    // ahead keeps the last layer from one pass to the other.
    EXPECT_EQ(by_kind["all_gather"].messages, 2 * run.model.layers + 2 - prefetch);
    EXPECT_EQ(by_kind["reduce_scatter"].messages, units);
    const std::int64_t whole = by_kind["reduce_scatter"].payload_bytes;
    EXPECT_GE(whole, 4 * spec::count_parameters(run.model).total);
    EXPECT_EQ(by_kind["reduce_scatter"].sent_bytes, whole * 3 / 4);
    auto rounded = run;
    rounded.optimizer.gradients = spec::StateType::bf16;
    for (const auto& t : dry_walk(rounded, 0).traffic) {
      if (t.axis != "fsdp") continue;
      const bool of_gradients = t.collective == "reduce_scatter";
      EXPECT_EQ(t.payload_bytes * (of_gradients ? 2 : 1), by_kind[t.collective].payload_bytes) << t.collective;
    }
  }
}

TEST(DryWalk, WalksEveryRankOfEveryMeshAlike) {
  auto run = gpt_tiny();
  run.mesh.ici = {.dp = 2, .fsdp = 2};
  run.mesh.dcn.fsdp = 2;
  const auto first = dry_walk(run, 0);
  for (std::int64_t rank = 1; rank < run.mesh.devices(); ++rank) {
    const auto other = dry_walk(run, rank);
    EXPECT_EQ(other.peak.total_bytes, first.peak.total_bytes);
    EXPECT_EQ(other.arena_bytes, first.arena_bytes);
  }
}

// If ranks do not divide a dim, rank 0 has the largest part, and no rank has more alive at once. Gaps between the
// smaller ones may be larger (train_mesh_property_test.cpp).
TEST(DryWalk, NoRankAlongTpHasMoreAliveThanTheFirst) {
  auto run = gpt_tiny();
  run.model.n_heads = 6;
  run.model.n_kv_heads = 6;
  run.mesh.ici.tp = 3;
  run.seq_len = 11;
  run.global_batch = 4;
  const auto first = dry_walk(run, 0);
  for (std::int64_t rank = 1; rank < run.mesh.devices(); ++rank) {
    EXPECT_LE(dry_walk(run, rank).peak.total_bytes, first.peak.total_bytes);
  }
}

// Together the stages compute what one rank does, and hold each parameter once, a tied embedding twice.
TEST(DryWalk, StagesShareTheModel) {
  for (auto run : {gpt_tiny(), llama_tiny()}) {
    run.model.layers = 5;
    run.grad_accum = 4;
    const auto alone = dry_walk(run, 0);
    for (const std::int64_t chunks : {1, 2}) {
      run.mesh.ici.pp = 2;
      run.pipeline_chunks = chunks;
      std::int64_t flops = 0;
      std::int64_t weights = 0;
      for (std::int64_t stage = 0; stage < 2; ++stage) {
        const auto report = dry_walk(run, stage);
        flops += report.flops.model_flops();
        weights += report.peak.weights_bytes;
        EXPECT_EQ(report.parameters, alone.parameters);
      }
      EXPECT_EQ(flops, alone.flops.model_flops());
      std::int64_t twice = 0;
      if (run.model.tied_embedding) twice = unit_layouts(run.model, Mesh({}, 0)).front().elements * 4;
      const std::int64_t tables =
          run.model.position.kind == spec::PositionKind::rope ? rounded(run.seq_len * run.model.head_dim * 4) : 0;
      EXPECT_EQ(weights, alone.peak.weights_bytes + rounded(twice) + tables);
      run.mesh.ici.pp = 1;
      run.pipeline_chunks = 1;
    }
  }
}

// The messages of neighbours match: the next stage receives what one sends in a direction.
TEST(DryWalk, StagesReceiveWhatTheirNeighboursSend) {
  auto run = gpt_tiny();
  run.model.layers = 8;
  run.global_batch = 8;
  run.grad_accum = 8;
  run.mesh.ici.pp = 4;
  for (const std::int64_t chunks : {1, 2}) {
    run.pipeline_chunks = chunks;
    std::int64_t sent = 0;
    std::int64_t received = 0;
    for (std::int64_t stage = 0; stage < 4; ++stage) {
      for (const auto& t : dry_walk(run, stage).traffic) {
        if (t.collective == "send") sent += t.payload_bytes;
        if (t.collective == "receive") received += t.payload_bytes;
      }
    }
    const std::int64_t stream = run.microbatch() * run.seq_len * run.model.d_model * 4;
    const std::int64_t embedding = unit_layouts(run.model, Mesh({}, 0)).front().elements * 4;
    EXPECT_EQ(sent, 2 * run.grad_accum * (4 * chunks - 1) * stream + 2 * embedding);
    EXPECT_EQ(received, sent);
  }
}

// The report is for the stage that needs the most memory, here the last one, which has the logits; each stage is
// represented by its first rank.
TEST(DryWalk, TheWorstRankIsInTheStageThatNeedsMost) {
  auto run = llama_tiny();
  run.model.vocab_size = 5000;
  run.model.layers = 7;
  run.grad_accum = 2;
  run.mesh.ici = {.fsdp = 2, .pp = 3};
  const auto worst = dry_walk_of_worst(run);
  ASSERT_EQ(worst.stages.size(), 3U);
  EXPECT_EQ(worst.rank, 4);
  EXPECT_EQ(worst.bubble_fraction, 0.5);  // two of four times a stage's own work
  EXPECT_EQ(worst.stages[0].layers, 3);
  EXPECT_EQ(worst.stages[1].layers, 2);
  for (std::size_t stage = 0; stage < 3; ++stage) {
    const auto& counts = worst.stages[stage];
    const auto alone = dry_walk(run, 2 * static_cast<std::int64_t>(stage));
    EXPECT_EQ(counts.rank, alone.rank);
    EXPECT_EQ(counts.peak.total_bytes, alone.peak.total_bytes);
    EXPECT_EQ(counts.arena_bytes, alone.arena_bytes);
    EXPECT_EQ(counts.flops.model_flops(), alone.flops.model_flops());
    EXPECT_LE(counts.arena_bytes, worst.arena_bytes);
  }
  run.mesh.ici = {.fsdp = 2};
  EXPECT_EQ(spec::to_json_line(dry_walk_of_worst(run)), spec::to_json_line(dry_walk(run, 0)));
}

// Also for experts' hidden width that ranks along tp do not divide while they divide everything else: with some widths,
// a rank with the smaller part needs more.
TEST(DryWalk, TheWorstRankIsSoughtAmongAllSizesOfExpertParts) {
  auto run = dropless_tiny();
  run.model.vocab_size = 64;
  run.mesh.ici.tp = 4;
  int smaller_parts = 0;
  for (const char* policy : {"none", "full", "save_qkv_proj"}) {
    run.remat = policy;
    for (run.model.moe.d_ff = 5; run.model.moe.d_ff < 60; ++run.model.moe.d_ff) {
      std::int64_t most = 0;
      for (std::int64_t rank = 0; rank < 4; ++rank) most = std::max(most, spec::needed_bytes(dry_walk(run, rank)));
      const auto worst = dry_walk_of_worst(run);
      EXPECT_EQ(spec::needed_bytes(worst), most) << policy << " " << run.model.moe.d_ff;
      smaller_parts += worst.rank > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(smaller_parts, 0);
}

// A CPU offloads to a file: the first stage, which offloads for two microbatches, needs less than the last one, with
// the logits.
TEST(DryWalk, OffloadedValuesDoNotCountAsDeviceMemory) {
  auto run = llama_tiny();
  run.model.vocab_size = 1000;
  run.model.layers = 8;
  run.grad_accum = 4;
  run.remat = "minimal_offloaded";
  run.mesh.ici.pp = 2;
  const auto first = dry_walk(run, 0);
  const auto last = dry_walk(run, 1);
  ASSERT_LT(first.arena_bytes, last.arena_bytes);
  ASSERT_GT(first.arena_bytes + first.peak.host_bytes, last.arena_bytes + last.peak.host_bytes);
  EXPECT_EQ(dry_walk_of_worst(run).rank, 1);
  run.memory_limit_bytes = last.arena_bytes;
  EXPECT_TRUE(dry_walk_of_worst(run).feasible);
  run.memory_limit_bytes = first.arena_bytes;
  const auto refused = dry_walk_of_worst(run);
  EXPECT_FALSE(refused.feasible);
  EXPECT_NE(refused.reason.find("needs " + std::to_string(last.arena_bytes) + " bytes per device"), std::string::npos);
}

// One forward, one backward: a stage keeps one microbatch for itself and one for each later stage.
TEST(DryWalk, EarlierStagesKeepMoreMicrobatches) {
  auto run = llama_tiny();
  run.model.layers = 4;
  run.global_batch = 8;
  run.grad_accum = 8;
  run.mesh.ici.pp = 4;
  const auto activations = [&](std::int64_t microbatches, std::int64_t stage) {
    run.global_batch = microbatches;
    run.grad_accum = microbatches;
    return dry_walk(run, stage).peak.activations_bytes;
  };
  // All microbatches' tokens exist from the start; a middle stage has none.
  EXPECT_EQ(activations(8, 1), activations(16, 1));
  EXPECT_GT(activations(8, 1), activations(8, 2));
}

TEST(DryWalk, ListsThePeakToTheByte) {
  const auto report = dry_walk(llama_tiny(), 0);
  std::int64_t sum = 0;
  for (const auto& t : report.live_at_peak) {
    EXPECT_EQ(t.bytes, rounded(t.bytes));
    sum += t.bytes;
  }
  EXPECT_EQ(sum, report.peak.total_bytes);
  EXPECT_GE(report.arena_bytes, report.peak.total_bytes);
}

TEST(DryWalk, DotProductHoldsTheScoresFlashDoesNot) {
  auto run = llama_tiny();
  run.attention = spec::AttentionKind::dot_product;
  const auto with = dry_walk(run, 0).peak.activations_bytes;
  run.attention = spec::AttentionKind::flash;
  const auto without = dry_walk(run, 0).peak.activations_bytes;
  const std::int64_t scores = run.global_batch * run.model.n_heads * run.seq_len * run.seq_len * 4;
  EXPECT_EQ(with - without, run.model.layers * scores);
}

// Offloaded values leave the device while the next layer computes and return while the following one does: those of a
// third layer are never there. So more layers need more device memory only for what is kept on it, their inputs.
TEST(DryWalk, OffloadedValuesOfAtMostTwoLayersAreOnTheDevice) {
  auto run = llama_tiny();
  run.model.vocab_size = 64;
  run.remat = "custom";
  run.remat_custom = {{"query_proj", spec::SavePlace::offload},
                      {"key_proj", spec::SavePlace::offload},
                      {"value_proj", spec::SavePlace::offload},
                      {"layer_input", spec::SavePlace::device}};
  const auto activations = [&](std::int64_t layers) {
    run.model.layers = layers;
    return dry_walk(run, 0).peak.activations_bytes;
  };
  const std::int64_t input = rounded(4 * run.global_batch * run.seq_len * run.model.d_model);
  EXPECT_EQ(activations(8) - activations(4), 4 * input);
}

TEST(DryWalk, OffloadMovesTheBytesToTheHost) {
  auto run = llama_tiny();
  run.remat = "save_qkv_proj";
  const auto kept = dry_walk(run, 0);
  run.remat = "qkv_proj_offloaded";
  const auto moved = dry_walk(run, 0);
  const auto& m = run.model;
  EXPECT_EQ(kept.peak.host_bytes, 0);
  EXPECT_EQ(moved.peak.host_bytes,
            m.layers * run.global_batch * run.seq_len * (m.n_heads + 2 * m.n_kv_heads) * m.head_dim * 4);
  EXPECT_LT(moved.peak.total_bytes, kept.peak.total_bytes);
  for (const auto& copy : moved.host_at_peak) {
    EXPECT_TRUE(copy.name.ends_with(".qkv_proj.host")) << copy.name;
    EXPECT_EQ(copy.scope, "host");
  }
  EXPECT_GT(moved.host_at_peak.size(), 1U);
  EXPECT_EQ(moved.flops.rematerialised_flops, kept.flops.rematerialised_flops);
}

TEST(DryWalk, SaysWhyARunIsInfeasible) {
  auto run = llama_tiny();
  run.precision = spec::Precision::tf32;
  EXPECT_FALSE(dry_walk(run, 0).feasible);
  EXPECT_NE(dry_walk(run, 0).reason.find("tf32"), std::string::npos);
  run = llama_tiny();
  run.memory_limit_bytes = 1000;
  EXPECT_FALSE(dry_walk(run, 0).feasible);
  EXPECT_NE(dry_walk(run, 0).reason.find("memory_limit_bytes is 1000"), std::string::npos);
}

// Changes every field of a run that is declared to affect no count.
struct ChangeUncounted {
  int turn;
  int& changed;

  template <class T>
  void operator()(const spec::Field& field, T& member) {
    if constexpr (spec::HasFields<T>) {
      T::fields(member, *this);
    } else if constexpr (std::is_arithmetic_v<T>) {
      if (field.counted) return;
      member = turn == 0 ? static_cast<T>(field.minimum) : static_cast<T>(member + 1);
      ++changed;
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!field.counted) member = turn == 0 ? "here" : "there";
    } else {
      EXPECT_TRUE(field.counted) << field.name << ": say here what other values it has";
    }
  }
};

void expect_uncounted_fields_change_no_count(const spec::RunSpec& run) {
  const auto before = spec::to_json_line(dry_walk(run, 0));
  const auto counted = spec::counted_json(run);
  for (const int turn : {0, 1}) {
    auto other = run;
    int changed = 0;
    spec::RunSpec::fields(other, ChangeUncounted{turn, changed});
    EXPECT_GE(changed, 12);
    EXPECT_EQ(spec::to_json_line(dry_walk(other, 0)), before);
    EXPECT_EQ(spec::counted_json(other), counted);
    EXPECT_NE(spec::canonical_json(other), spec::canonical_json(run));
  }
}

// Also with several ranks: only there are messages, and values that wait to be sent, counted.
TEST(DryWalk, UncountedFieldsChangeNoCount) {
  for (auto run : {gpt_tiny(), llama_tiny()}) {
    run.grad_accum = 2;
    expect_uncounted_fields_change_no_count(run);
    run.mesh.ici = {.dp = 2, .fsdp = 2};
    expect_uncounted_fields_change_no_count(run);
  }
}

}  // namespace
}  // namespace perfbench::engine
