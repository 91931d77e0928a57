#include "workloads/spec/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "workloads/spec/run_spec.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::spec {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

RunSpec sound_run() {
  RunSpec run;
  auto& model = run.model;
  model.name = "sound";
  model.layers = 4;
  model.d_model = 64;
  model.n_heads = 4;
  model.n_kv_heads = 2;
  model.head_dim = 16;
  model.d_ff = 128;
  model.vocab_size = 256;
  model.max_seq_len = 128;
  run.seq_len = 128;
  run.global_batch = 8;
  return run;
}

// "pointer: message" after `change`.
std::string mistake(const std::function<void(RunSpec&)>& change) {
  RunSpec run = sound_run();
  change(run);
  try {
    validate(run);
  } catch (const SpecError& e) {
    return e.pointer() + ": " + e.what();
  }
  return "no error";
}

TEST(Validate, AcceptsAValidRun) {
  EXPECT_EQ(mistake([](RunSpec&) {}), "no error");
}

TEST(Validate, LogitsInF32NeedBf16) {
  const auto with = [](Precision precision) {
    return mistake([=](RunSpec& r) {
      r.precision = precision;
      r.logits = LogitsType::fp32;
    });
  };
  EXPECT_EQ(with(Precision::bf16), "no error");
  EXPECT_THAT(with(Precision::fp32), StartsWith("/logits: logits: fp32 keeps what precision: bf16 would round, found"));
  EXPECT_THAT(with(Precision::tf32), StartsWith("/logits: "));
}

TEST(Validate, ScalesNeedFp8) {
  const auto with = [](Precision precision, Fp8Scaling scaling, std::int64_t history, Task task = Task::pretrain) {
    return mistake([=](RunSpec& r) {
      r.precision = precision;
      r.fp8_scaling = scaling;
      r.fp8_amax_history = history;
      r.task = task;
    });
  };
  EXPECT_EQ(with(Precision::fp8, Fp8Scaling::delayed, 16), "no error");
  EXPECT_EQ(with(Precision::fp8, Fp8Scaling::delayed, 1), "no error");
  EXPECT_EQ(with(Precision::fp8, Fp8Scaling::current, 16), "no error");
  EXPECT_THAT(with(Precision::fp8, Fp8Scaling::current, 8),
              StartsWith("/fp8_amax_history: fp8_scaling: current has no history"));
  EXPECT_THAT(
      with(Precision::bf16, Fp8Scaling::current, 16),
      StartsWith("/fp8_scaling: fp8_scaling and fp8_amax_history are for precision: fp8, found precision: bf16"));
  EXPECT_THAT(with(Precision::fp32, Fp8Scaling::delayed, 8), StartsWith("/fp8_amax_history: "));
}

TEST(Validate, RoundingToBf16IsAlsoForFp8) {
  EXPECT_EQ(mistake([](RunSpec& r) {
              r.precision = Precision::fp8;
              r.rounding = Rounding::stochastic;
              r.logits = LogitsType::fp32;
            }),
            "no error");
  EXPECT_EQ(mistake([](RunSpec& r) {
              r.precision = Precision::fp8;
              r.bf16_weights = Bf16Weights::kept;
            }),
            "no error");
}

TEST(Validate, AnAttentionKernelNeedsFlashAttentionOnAGpu) {
  const auto with = [](AttentionChoice choice, Device device, AttentionKind kind) {
    return mistake([=](RunSpec& r) {
      r.attention_kernel = choice;
      r.device = device;
      r.attention = kind;
    });
  };
  for (const auto choice : {AttentionChoice::cudnn, AttentionChoice::own}) {
    EXPECT_EQ(with(choice, Device::cuda, AttentionKind::flash), "no error");
    EXPECT_THAT(with(choice, Device::cpu, AttentionKind::flash), HasSubstr("found device: cpu"));
    EXPECT_THAT(with(choice, Device::cuda, AttentionKind::dot_product),
                StartsWith("/attention_kernel: attention_kernel: "));
  }
  EXPECT_EQ(with(AttentionChoice::automatic, Device::cpu, AttentionKind::dot_product), "no error");
}

TEST(Unsupported, IncludesProblemsThatARequestedCudnnRefuses) {
  auto run = sound_run();
  run.device = Device::cuda;
  run.attention_kernel = AttentionChoice::cudnn;
  EXPECT_THAT(unsupported(run).value_or(""), HasSubstr("precision: fp32"));
  run.precision = Precision::bf16;
  EXPECT_EQ(unsupported(run), std::nullopt);
  run.model.position.kind = PositionKind::t5_relative_bias;
  EXPECT_THAT(unsupported(run).value_or(""), HasSubstr("no relative bias, which sound has"));
  run.attention_kernel = AttentionChoice::own;
  EXPECT_EQ(unsupported(run), std::nullopt);
}

// Steps 0 to 9.
TEST(Validate, AProfileIsAWindowOfTimedStepsAfterTheFirstThree) {
  const auto with = [](std::int64_t first, std::int64_t steps) {
    return mistake([=](RunSpec& r) { r.profile = {.first_step = first, .steps = steps}; });
  };
  EXPECT_EQ(with(3, 1), "no error");
  EXPECT_EQ(with(3, 7), "no error");
  EXPECT_EQ(with(9, 1), "no error");
  EXPECT_THAT(with(2, 1), StartsWith("/profile/first_step: profile.first_step is 2, it must be at least 3"));
  EXPECT_THAT(with(3, 8), StartsWith("/profile/steps: the profile ends after step 10, but the run has steps 0 to 9"));
  EXPECT_THAT(with(4, 0), StartsWith("/profile/steps: "));
}

TEST(Validate, DropoutIsBelowOneAndNeedsTraining) {
  const auto with = [](const DropoutSpec& dropout, Task task = Task::pretrain) {
    return mistake([=](RunSpec& r) {
      r.dropout = dropout;
      r.task = task;
    });
  };
  EXPECT_EQ(with({.input = 0.1, .layer_input = 0.5, .residual = 0.999}), "no error");
  EXPECT_THAT(with({.input = 1}),
              StartsWith("/dropout/input: dropout.input: a dropout rate of 1 would leave no element"));
  EXPECT_THAT(with({.layer_input = 1}), StartsWith("/dropout/layer_input: "));
  EXPECT_THAT(with({.residual = 1}), StartsWith("/dropout/residual: "));
  EXPECT_EQ(with({.residual = 0.1}, Task::sft), "no error");
  EXPECT_EQ(with({}, Task::eval), "no error");
  EXPECT_THAT(with({.residual = 0.1}, Task::eval),
              StartsWith("/dropout: task: eval does not train, so it has no dropout"));
}

TEST(Validate, NamesTheFieldToChange) {
  EXPECT_THAT(mistake([](RunSpec& r) { r.model.n_kv_heads = 3; }), StartsWith("/model/n_kv_heads: n_heads 4"));
  EXPECT_THAT(mistake([](RunSpec& r) { r.model.head_dim = 15; }), StartsWith("/model/head_dim: "));
  EXPECT_THAT(mistake([](RunSpec& r) {
                r.model.qk_norm = QkNorm::head;
                r.model.norm = NormKind::layernorm;
              }),
              StartsWith("/model/qk_norm: qk_norm: head is an rmsnorm"));
  EXPECT_THAT(mistake([](RunSpec& r) { r.mesh.ici.dp = 3; }), StartsWith("/global_batch: global_batch 8"));
  EXPECT_THAT(mistake([](RunSpec& r) { r.grad_accum = 3; }), StartsWith("/grad_accum: "));
  EXPECT_THAT(mistake([](RunSpec& r) { r.remat = "fulll"; }), StartsWith("/remat: "));
  EXPECT_THAT(mistake([](RunSpec& r) { r.remat_custom["context"] = SavePlace::device; }),
              HasSubstr("need remat: custom"));
  EXPECT_THAT(
      mistake([](RunSpec& r) { r.rounding = Rounding::stochastic; }),
      StartsWith("/rounding: rounding: stochastic is for rounding weights to bf16, found precision: fp32; use "));
  EXPECT_EQ(mistake([](RunSpec& r) {
              r.rounding = Rounding::stochastic;
              r.precision = Precision::bf16;
            }),
            "no error");
  EXPECT_THAT(
      mistake([](RunSpec& r) { r.bf16_weights = Bf16Weights::kept; }),
      StartsWith(
          "/bf16_weights: bf16_weights: kept is for precision: bf16 or fp8 with rounding: nearest, found fp32 "));
  for (const auto rounding : {Rounding::nearest, Rounding::stochastic}) {
    EXPECT_THAT(mistake([rounding](RunSpec& r) {
                  r.bf16_weights = Bf16Weights::kept;
                  r.precision = Precision::bf16;
                  r.rounding = rounding;
                }),
                StartsWith(rounding == Rounding::nearest ? "no error" : "/bf16_weights: "));
  }
  EXPECT_THAT(mistake([](RunSpec& r) { r.data.kind = DataKind::flat_tokens; }), StartsWith("/data/path: "));
}

TEST(Validate, FastAccumulationNeedsEightBitProductsOnAGpu) {
  for (const auto choice : {Fp8Accumulation::fast_forward, Fp8Accumulation::fast}) {
    const auto with = [choice](Precision precision, Device device) {
      return mistake([=](RunSpec& r) {
        r.fp8_accumulation = choice;
        r.precision = precision;
        r.device = device;
      });
    };
    EXPECT_EQ(with(Precision::fp8, Device::cuda), "no error");
    EXPECT_THAT(with(Precision::bf16, Device::cuda),
                testing::AllOf(StartsWith("/fp8_accumulation: fp8_accumulation: fast"),
                               HasSubstr("for sums of 8-bit products, found precision: bf16; use ")));
    EXPECT_THAT(with(Precision::fp8, Device::cpu),
                testing::AllOf(StartsWith("/fp8_accumulation: "), HasSubstr("found device: cpu, which adds in f32")));
  }
}

TEST(Validate, AnUpdateInTheBackwardPassMustNotWait) {
  const auto with = [](auto change) {
    return mistake([&](RunSpec& r) {
      r.optimizer.in_backward = true;
      r.optimizer.clip_norm = 0;
      r.grad_accum = 1;
      change(r);
    });
  };
  EXPECT_EQ(with([](RunSpec&) {}), "no error");
  EXPECT_EQ(with([](RunSpec& r) { r.mesh.ici = {.fsdp = 2}; }), "no error");
  EXPECT_EQ(with([](RunSpec& r) { r.optimizer.clip_norm = 1; }),
            "/optimizer/in_backward: in_backward updates weights before the step's last gradient is known, found a "
            "clip_norm, which needs all gradients; use clip_norm: 0 or in_backward: false");
  EXPECT_THAT(with([](RunSpec& r) { r.grad_accum = 2; }), HasSubstr("found 2 microbatches; use grad_accum: 1"));
  EXPECT_THAT(with([](RunSpec& r) { r.mesh.ici = {.dp = 2}; }), HasSubstr("found a mesh with other axes than fsdp"));
}

TEST(Validate, FineTuningNeedsDataThatHasPrompts) {
  const auto with = [](Task task, DataKind kind) {
    return mistake([=](RunSpec& r) {
      r.task = task;
      r.data.kind = kind;
      r.data.path = "set";
    });
  };
  EXPECT_EQ(with(Task::sft, DataKind::instruction), "no error");
  EXPECT_EQ(with(Task::sft, DataKind::synthetic), "no error");
  EXPECT_THAT(with(Task::sft, DataKind::flat_tokens),
              StartsWith("/data/kind: task: sft needs data that has prompts, found data.kind: flat_tokens; use "));
  EXPECT_THAT(with(Task::pretrain, DataKind::instruction), StartsWith("/task: data.kind: instruction has prompts"));
  EXPECT_EQ(with(Task::pretrain, DataKind::flat_tokens), "no error");
  EXPECT_THAT(mistake([](RunSpec& r) {
                r.task = Task::sft;
                r.data.kind = DataKind::instruction;
              }),
              StartsWith("/data/path: instruction data needs"));
}

TEST(Validate, AnEvaluationNeedsPromptsAndNoTrainingOptions) {
  const auto with = [](const std::function<void(RunSpec&)>& change) {
    return mistake([&](RunSpec& r) {
      r.task = Task::eval;
      r.data.kind = DataKind::instruction;
      r.data.path = "set";
      change(r);
    });
  };
  EXPECT_EQ(with([](RunSpec&) {}), "no error");
  EXPECT_THAT(with([](RunSpec& r) { r.data.kind = DataKind::flat_tokens; }),
              StartsWith("/data/kind: task: eval needs data that has prompts, found data.kind: flat_tokens; use "));
  EXPECT_THAT(with([](RunSpec& r) { r.remat = "full"; }), StartsWith("/remat: task: eval has no backward pass"));
  EXPECT_THAT(with([](RunSpec& r) { r.precision = Precision::fp8; }),
              StartsWith("/fp8_scaling: task: eval has no previous steps"));
  EXPECT_EQ(with([](RunSpec& r) {
              r.precision = Precision::fp8;
              r.fp8_scaling = Fp8Scaling::current;
            }),
            "no error");
  EXPECT_THAT(with([](RunSpec& r) { r.evaluation.path = "other"; }),
              StartsWith("/evaluation/path: evaluation is for runs that train"));
  EXPECT_EQ(mistake([](RunSpec& r) { r.evaluation.path = "other"; }), "no error");
  EXPECT_THAT(mistake([](RunSpec& r) { r.evaluation = {.path = "other", .split = "test"}; }),
              StartsWith("/evaluation/split: split is 'test'"));
}

TEST(Validate, AdaptersAreForTheirTaskAndNotForExperts) {
  const auto lora = [](
                        const LoraSpec& spec, const std::function<void(RunSpec&)>& change = [](RunSpec&) {}) {
    return mistake([&](RunSpec& r) {
      r.task = Task::lora;
      r.lora = spec;
      change(r);
    });
  };
  EXPECT_EQ(lora({.rank = 8}), "no error");
  EXPECT_THAT(lora({}), StartsWith("/lora/rank: task: lora trains adapters: lora.rank must be at least 1"));
  EXPECT_THAT(mistake([](RunSpec& r) { r.lora.rank = 8; }),
              StartsWith("/lora: adapters are for task: lora, found task: pretrain"));
  EXPECT_THAT(mistake([](RunSpec& r) { r.lora.alpha = 8; }), StartsWith("/lora: "));
  EXPECT_THAT(mistake([](RunSpec& r) { r.lora.targets = LoraTargets::mlp; }), StartsWith("/lora: "));
  EXPECT_THAT(mistake([](RunSpec& r) { r.lora.merge = true; }), StartsWith("/lora: "));
  const auto on_instructions = [](RunSpec& r) { r.data = {.kind = DataKind::instruction, .path = "set"}; };
  EXPECT_EQ(lora({.rank = 8}, on_instructions), "no error");
  const auto with_experts = [](RunSpec& r) { r.model.moe = {.n_experts = 4, .top_k = 2, .d_ff = 64}; };
  EXPECT_THAT(lora({.rank = 8}, with_experts),
              StartsWith("/lora/targets: lora.targets: all would adapt experts, which have no adapters here; use "));
  EXPECT_THAT(lora({.rank = 8, .targets = LoraTargets::mlp}, with_experts), StartsWith("/lora/targets: "));
  EXPECT_EQ(lora({.rank = 8, .targets = LoraTargets::attention}, with_experts), "no error");
  EXPECT_THAT(lora({.rank = 8, .merge = true}), StartsWith("/lora/merge: lora.merge: true merges adapters for the "));
  EXPECT_THAT(lora({.rank = 8, .merge = true}),
              HasSubstr("there is no evaluation to read the merged weights; set evaluation.path, or"));
  const auto evaluating = [](RunSpec& r) { r.evaluation.path = "set"; };
  EXPECT_EQ(lora({.rank = 8, .merge = true}, evaluating), "no error");
  EXPECT_THAT(lora({.merge = true}, evaluating), StartsWith("/lora/rank: "));
}

TEST(Validate, PackingNeedsTraining) {
  const auto packed = [](Task task, DataKind kind) {
    return mistake([=](RunSpec& r) {
      r.task = task;
      r.data = {.kind = kind, .path = "set", .packing = Packing::documents};
    });
  };
  EXPECT_EQ(packed(Task::pretrain, DataKind::flat_tokens), "no error");
  EXPECT_EQ(packed(Task::sft, DataKind::instruction), "no error");
  EXPECT_EQ(packed(Task::pretrain, DataKind::synthetic), "no error");
  EXPECT_THAT(packed(Task::eval, DataKind::instruction),
              StartsWith("/data/packing: task: eval takes a row for each document, found packing: documents"));
}

TEST(Validate, ALearnedPositionTableBoundsTheSequence) {
  EXPECT_EQ(mistake([](RunSpec& r) { r.seq_len = 256; }), "no error");  // rotary positions have no limit
  EXPECT_THAT(mistake([](RunSpec& r) {
                r.model.position.kind = PositionKind::learned;
                r.seq_len = 256;
              }),
              StartsWith("/seq_len: seq_len 256 is above the model's max_seq_len 128"));
}

TEST(Validate, ExpertsNeedAWidthAndEnoughOfThem) {
  EXPECT_THAT(mistake([](RunSpec& r) { r.model.moe.n_experts = 8; }), StartsWith("/model/moe/d_ff: "));
  EXPECT_THAT(mistake([](RunSpec& r) { r.model.moe = {.n_experts = 2, .top_k = 3, .d_ff = 8}; }),
              StartsWith("/model/moe/top_k: "));
  EXPECT_THAT(mistake([](RunSpec& r) {
                r.model.moe = {.n_experts = 4, .top_k = 2, .d_ff = 8, .routing = MoeRouting::top2_gshard};
              }),
              StartsWith("/model/moe/capacity_factor: "));
  EXPECT_THAT(mistake([](RunSpec& r) {
                r.model.moe = {.n_experts = 4, .top_k = 1, .d_ff = 8, .routing = MoeRouting::top2_gshard};
              }),
              StartsWith("/model/moe/top_k: "));
  EXPECT_THAT(mistake([](RunSpec& r) { r.mesh.ici.ep = 2; }), StartsWith("/mesh/ici/ep: ep 2 divides experts"));
  EXPECT_THAT(mistake([](RunSpec& r) {
                r.model.moe = {.n_experts = 3, .top_k = 2, .d_ff = 8};
                r.mesh.ici.ep = 2;
              }),
              StartsWith("/mesh/ici/ep: n_experts 3 do not divide over ep 2"));
  EXPECT_THAT(mistake([](RunSpec& r) {
                r.model.moe = {.n_experts = 4, .top_k = 2, .d_ff = 1};
                r.mesh.ici.tp = 2;
              }),
              StartsWith("/mesh/ici/tp: tp 2 is more ranks than the experts' d_ff 1"));
  for (const double capacity_factor : {0.0, 1.0, 1e300}) {
    EXPECT_THAT(mistake([=](RunSpec& r) {
                  r.model.moe = {.n_experts = 4, .top_k = 4, .d_ff = 8, .capacity_factor = capacity_factor};
                  r.seq_len = 1 << 20;
                  r.global_batch = 1024;
                }),
                StartsWith("/global_batch: 1024 sequences of 1048576 tokens in a microbatch"));
  }
  EXPECT_THAT(mistake([](RunSpec& r) { r.model.moe = {.n_experts = 5000, .top_k = 2, .d_ff = 8}; }),
              StartsWith("/model/moe/n_experts: n_experts 5000 is above 4096"));
  for (const double capacity_factor : {0.0, 1.5}) {
    EXPECT_THAT(mistake([=](RunSpec& r) {
                  r.model.moe = {.n_experts = 4, .top_k = 2, .d_ff = 8, .capacity_factor = capacity_factor};
                  r.expert_buffer_factor = 3.0;
                  if (capacity_factor > 0.0) r.mesh.ici.ep = 2;
                }),
                StartsWith("/expert_buffer_factor: "));
  }
  EXPECT_THAT(mistake([](RunSpec& r) { r.expert_buffer_factor = 3.0; }), StartsWith("/expert_buffer_factor: "));
}

TEST(Validate, RefusesRunsThatCannotBeCountedExactly) {
  EXPECT_THAT(mistake([](RunSpec& r) {
                r.model.d_model = 1'000'000;
                r.model.d_ff = 10'000'000;
                r.model.layers = 10'000;
              }),
              HasSubstr("more than 10^15 parameters"));
  EXPECT_THAT(mistake([](RunSpec& r) {
                r.model.moe = {.n_experts = 4096, .top_k = 2, .d_ff = 10'000'000};
                r.model.d_model = 1'000'000;
              }),
              HasSubstr("more than 10^15 parameters"));
  EXPECT_THAT(mistake([](RunSpec& r) {
                r.seq_len = 100'000'000;
                r.global_batch = 1'000'000'000;
              }),
              StartsWith("/global_batch: 1000000000 sequences"));
}

// A plan of 1,000,000 microbatches through 10,000 layers would take two days without any output.
TEST(Validate, RefusesRunsThatAPlanWouldWalkForHours) {
  const auto with = [](std::int64_t layers, std::int64_t grad_accum) {
    return mistake([=](RunSpec& r) {
      r.model.layers = layers;
      r.grad_accum = r.global_batch = grad_accum;
    });
  };
  EXPECT_EQ(with(4, 500'000), "no error");
  EXPECT_THAT(with(4, 500'001), StartsWith("/grad_accum: grad_accum 500001 with 4 layers exceed the passes"));
  EXPECT_THAT(with(4, 500'001), HasSubstr("use a grad_accum of at most 500000"));
  EXPECT_THAT(with(10'000, 1'000), StartsWith("/model/layers: 10000 layers with grad_accum 1000"));
  EXPECT_EQ(with(126, 4096), "no error") << "the largest models there are";
  const auto chunks = [](std::int64_t sequences) {
    return mistake([=](RunSpec& r) {
      r.global_batch = sequences;
      r.loss_chunk_tokens = 1;
    });
  };
  EXPECT_EQ(chunks(100'000), "no error");
  EXPECT_THAT(chunks(200'000), StartsWith("/loss_chunk_tokens: loss_chunk_tokens 1 cuts the logits of a step"));
}

TEST(Validate, NeedsWholeHeadsOnEveryRankAlongTp) {
  const auto over = [](std::int64_t tp, std::int64_t heads, std::int64_t kv_heads) {
    return mistake([=](RunSpec& r) {
      r.model.n_heads = heads;
      r.model.n_kv_heads = kv_heads;
      r.mesh.ici.tp = tp;
    });
  };
  EXPECT_EQ(over(4, 8, 8), "no error");
  EXPECT_EQ(over(4, 8, 2), "no error");  // each held by two ranks
  EXPECT_EQ(over(3, 6, 1), "no error");
  EXPECT_THAT(over(3, 8, 8), StartsWith("/mesh/ici/tp: n_heads 8 do not divide over tp 3"));
  EXPECT_THAT(over(3, 6, 2), StartsWith("/mesh/ici/tp: n_kv_heads 2 do not divide over tp 3"));
  EXPECT_THAT(mistake([](RunSpec& r) {
                r.model.n_heads = 64;
                r.model.n_kv_heads = 64;
                r.model.vocab_size = 30;
                r.mesh.ici.tp = 32;
              }),
              StartsWith("/mesh/ici/tp: tp 32 is more ranks than vocab_size 30"));
}

TEST(Validate, NeedsALayerInEveryChunkOfAPipeline) {
  const auto pipeline = [](std::int64_t layers, std::int64_t stages, std::int64_t chunks, std::int64_t microbatches) {
    return mistake([=](RunSpec& r) {
      r.model.layers = layers;
      r.mesh.ici.pp = stages;
      r.pipeline_chunks = chunks;
      r.grad_accum = microbatches;
      r.global_batch = microbatches;
    });
  };
  EXPECT_EQ(pipeline(5, 4, 1, 3), "no error");
  EXPECT_EQ(pipeline(9, 4, 2, 8), "no error");
  EXPECT_THAT(pipeline(3, 4, 1, 4), StartsWith("/mesh/ici/pp: 3 layers are fewer than the chunks of a pipeline, pp 4"));
  EXPECT_THAT(pipeline(7, 4, 2, 4), StartsWith("/mesh/ici/pp: 7 layers are fewer"));
  EXPECT_THAT(pipeline(8, 1, 2, 4), StartsWith("/pipeline_chunks: pipeline_chunks 2 needs a pipeline"));
  EXPECT_THAT(pipeline(8, 4, 2, 6), HasSubstr("grad_accum 6 does not divide by pp 4"));
}

TEST(Unsupported, NamesWhatTheEngineLacks) {
  auto run = sound_run();
  EXPECT_FALSE(unsupported(run).has_value());
  run.mesh.ici.tp = 2;
  EXPECT_FALSE(unsupported(run).has_value());
  run.mesh.ici.pp = 2;
  EXPECT_FALSE(unsupported(run).has_value());
  run.model.moe.n_experts = 8;
  run.mesh.ici.ep = 2;
  EXPECT_FALSE(unsupported(run).has_value());
  run.model.position.kind = PositionKind::t5_relative_bias;
  EXPECT_FALSE(unsupported(run).has_value());
  run.precision = Precision::fp8;
  EXPECT_FALSE(unsupported(run).has_value());
  run.precision = Precision::tf32;
  EXPECT_THAT(unsupported(run).value_or(""), HasSubstr("tf32 is a GPU precision"));
}

TEST(Unsupported, IncludesFp8OnAGpuWithRowsThatAreNotMultiplesOf16) {
  const auto found = [](const std::function<void(RunSpec&)>& change) {
    auto run = sound_run();
    run.device = Device::cuda;
    run.precision = Precision::fp8;
    run.model.d_model = 64;
    run.model.n_heads = run.model.n_kv_heads = 4;
    run.model.head_dim = 16;
    run.model.d_ff = 128;
    run.seq_len = 32;
    change(run);
    return unsupported(run).value_or("nothing");
  };
  EXPECT_EQ(found([](RunSpec&) {}), "nothing");
  EXPECT_THAT(found([](RunSpec& r) { r.model.d_model = 72; }),
              HasSubstr("only rows of multiples of 16 elements, but d_model is 72"));
  EXPECT_THAT(found([](RunSpec& r) { r.model.head_dim = 2; }), HasSubstr("query heads of a rank have elements: 8"));
  EXPECT_THAT(found([](RunSpec& r) {
                r.model.n_kv_heads = 1;
                r.model.head_dim = 20;
              }),
              HasSubstr("key heads of a rank have elements: 20"));
  EXPECT_THAT(found([](RunSpec& r) { r.model.d_ff = 120; }), HasSubstr("d_ff of a rank is 120"));
  EXPECT_THAT(found([](RunSpec& r) {
                r.seq_len = 3;
                r.grad_accum = r.global_batch;
              }),
              HasSubstr("tokens: 3"));
  EXPECT_THAT(found([](RunSpec& r) {
                r.mesh.ici.tp = 4;
                r.model.d_ff = 130;
              }),
              HasSubstr("130 does not divide over tp 4"));
  EXPECT_EQ(found([](RunSpec& r) {
              r.device = Device::cpu;
              r.model.d_model = 72;
            }),
            "nothing");
}

TEST(Validate, AModelWithBlocksThatTheEngineLacksIsUnsupported) {
  RunSpec run = sound_run();
  run.model.name = "gemma";
  run.model.needs = {MissingBlock::norms_around, MissingBlock::soft_caps};
  EXPECT_NO_THROW(validate(run));
  EXPECT_EQ(unsupported(run).value_or(""), "gemma needs norms_around, soft_caps, which this engine does not have");
}

// Llama 3.1 405B, 2048 sequences of 8192 tokens: 6 * 403.75e9 + 12 * 126 * 128 * 128 * 8192 = 2.63e12 FLOP a
// token, 4.4e19 in all. A rank of tp 8 has 5.5e18, one of tp 8 and pp 14 3.9e17.
TEST(Validate, CountsTheWorkOfARankUnderTpAndPp) {
  const auto llama = [](std::int64_t tp, std::int64_t pp) {
    return mistake([=](RunSpec& run) {
      run.model.layers = 126;
      run.model.d_model = 16384;
      run.model.n_heads = 128;
      run.model.n_kv_heads = 8;
      run.model.head_dim = 128;
      run.model.d_ff = 53248;
      run.model.vocab_size = 128256;
      run.seq_len = 8192;
      run.global_batch = 2048;
      run.mesh.ici.tp = tp;
      run.mesh.dcn.pp = pp;
    });
  };
  EXPECT_THAT(llama(1, 1), HasSubstr("more work than can be counted exactly"));
  EXPECT_THAT(llama(8, 1), HasSubstr("more dp, fsdp, tp or pp"));
  EXPECT_EQ(llama(8, 14), "no error");
}

}  // namespace
}  // namespace perfbench::spec
