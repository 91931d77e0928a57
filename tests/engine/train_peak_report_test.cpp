// The report of a dry walk about its peak, beside the amounts: when it is, where the policy keeps each value of a
// layer, and what goes to the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/train/dry_walk.h"
#include "engine/train/memory_course.h"
#include "engine/train/peak_witness.h"
#include "engine/train/trainer.h"
#include "tests/engine/example_runs.h"

namespace perfbench::engine {
namespace {

// In blocks of the arena.
std::int64_t allocated(std::int64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

// One copy goes out for each layer and microbatch.
TEST(PeakReport, CountsWhatAStepSendsToTheHost) {
  auto run = llama_tiny();
  EXPECT_EQ(dry_walk(run, 0).offloaded_bytes, 0);
  run.remat = "qkv_proj_offloaded";
  const auto once = dry_walk(run, 0);
  EXPECT_EQ(once.offloaded_bytes, once.peak.host_bytes);
  run.global_batch *= 2;
  run.grad_accum = 2;
  const auto twice = dry_walk(run, 0);
  EXPECT_EQ(twice.offloaded_bytes, 2 * once.offloaded_bytes);
  EXPECT_EQ(twice.peak.host_bytes, once.peak.host_bytes);
}

std::map<std::string, spec::Intermediate> intermediates_of(const spec::RunSpec& run) {
  std::map<std::string, spec::Intermediate> out;
  for (const auto& kind : dry_walk(run, 0).intermediates) EXPECT_TRUE(out.emplace(kind.tensor, kind).second);
  return out;
}

TEST(PeakReport, ListsTheValuesThatBackwardReadsWithTheirPlaces) {
  auto run = llama_tiny();
  run.remat = "custom";
  run.remat_custom = {{"query_proj", spec::SavePlace::device},
                      {"key_proj", spec::SavePlace::offload},
                      {"value_proj", spec::SavePlace::remat},
                      {"mlpwi_0", spec::SavePlace::offload},
                      {"mlpwi_1", spec::SavePlace::offload}};
  run.grad_accum = 2;
  const auto& m = run.model;
  const std::int64_t tokens = run.microbatch() * run.seq_len;
  const auto kinds = intermediates_of(run);
  const auto expect = [&](const char* tensor, const char* value, spec::SavePlace place, std::int64_t width,
                          std::int64_t layers) {
    ASSERT_TRUE(kinds.contains(tensor)) << tensor;
    const auto& kind = kinds.at(tensor);
    EXPECT_EQ(kind.value, value);
    EXPECT_EQ(kind.place, place) << tensor;
    EXPECT_EQ(kind.bytes, allocated(4 * tokens * width)) << tensor;
    EXPECT_EQ(kind.times, layers * run.grad_accum) << tensor;
  };
  using enum spec::SavePlace;
  expect("query_proj", "query_proj", device, m.n_heads * m.head_dim, m.layers);
  expect("key_proj", "key_proj", offload, m.n_kv_heads * m.head_dim, m.layers);
  expect("value_proj", "value_proj", remat, m.n_kv_heads * m.head_dim, m.layers);
  expect("context", "context", remat, m.n_heads * m.head_dim, m.layers);
  expect("mlpwi", "mlpwi_0+mlpwi_1", offload, 2 * m.d_ff, m.layers);
  // The embedding's output is the first layer's input, and a layer's output that of the next.
  expect("layer_input", "layer_input", device, m.d_model, 1);
  expect("layer_output", "layer_input", device, m.d_model, m.layers - 1);
  run.task = spec::Task::eval;
  EXPECT_TRUE(dry_walk(run, 0).intermediates.empty()) << "there is no backward pass";
}

// With a large vocabulary it is at the logits; with wide feed-forward blocks that are not kept, in the first backward
// pass.
TEST(PeakReport, SaysWhenThePeakIs) {
  auto run = llama_tiny();
  run.model.vocab_size = 100'000;
  run.loss_chunk_tokens = 16;
  auto at = dry_walk(run, 0).peak_at;
  EXPECT_EQ(at.phase, "forward");
  EXPECT_EQ(at.range, "head");
  run = llama_tiny();
  run.model.d_ff = 10'000;
  run.model.vocab_size = 8;
  run.remat = "full";
  at = dry_walk(run, 0).peak_at;
  EXPECT_EQ(at.phase, "backward");
  EXPECT_EQ(at.range.rfind("layers.2", 0), 0U) << at.range;
  EXPECT_EQ(at.tensor.rfind("layers.2.", 0), 0U) << at.tensor;
}

// One token of one sequence, so that nothing in the step is large: frozen bf16 weights are first drawn as f32.
TEST(PeakReport, SaysWhenThePeakIsBeforeTheStep) {
  auto run = llama_tiny();
  run.precision = spec::Precision::bf16;
  run.task = spec::Task::lora;
  run.lora.rank = 1;
  run.seq_len = 1;
  run.global_batch = 1;
  run.model.vocab_size = 100'000;
  EXPECT_EQ(dry_walk(run, 0).peak_at.phase, "setup");
  EXPECT_EQ(dry_walk(run, 0).peak_at.range, "");
  EXPECT_EQ(dry_walk(run, 0).peak_at.tensor, "initial_weights");
}

// The curve of a step reaches its peak at the reported place, and nowhere exceeds it.
TEST(MemoryCourse, PeaksWhereTheStepDoes) {
  for (auto run : {gpt_tiny(), llama_tiny()}) {
    for (const auto* remat : {"none", "full", "qkv_proj_offloaded"}) {
      run.remat = remat;
      const auto report = dry_walk(run, 0);
      const auto course = memory_course(run, 0);
      ASSERT_FALSE(course.empty());
      const auto highest = std::max_element(course.begin(), course.end(),
                                            [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
      EXPECT_EQ(highest->bytes, report.peak.total_bytes) << remat;
      EXPECT_EQ(highest->phase, report.peak_at.phase) << remat;
      EXPECT_EQ(highest->range.substr(0, 8), report.peak_at.range.substr(0, 8)) << remat;
    }
  }
}

// With more spans than it keeps: samples in order, from the first to the last, and including the peak.
TEST(MemoryCourse, KeepsTheLargestSamplesOfALongStep) {
  auto run = llama_tiny();
  run.model.layers = 24;
  const auto course = memory_course(run, 0);
  EXPECT_LE(course.size(), MemoryCourse::kMost);
  EXPECT_GE(course.size(), MemoryCourse::kMost / 2);
  for (std::size_t i = 1; i < course.size(); ++i) EXPECT_LT(course[i - 1].at, course[i].at);
  EXPECT_GT(course.back().at, static_cast<std::int64_t>(MemoryCourse::kMost));
  std::int64_t highest = 0;
  std::set<std::string> phases;
  for (const auto& sample : course) {
    highest = std::max(highest, sample.bytes);
    phases.insert(sample.phase);
    EXPECT_NE(sample.phase, "") << sample.at;
  }
  for (const auto* phase : {"forward", "backward", "optimizer"}) EXPECT_TRUE(phases.contains(phase)) << phase;
  EXPECT_EQ(highest, dry_walk(run, 0).peak.total_bytes);
}

// A witness alone: waits, and the time after the step.
TEST(PeakWitness, NamesTheOutermostPhaseAndAllPartsOfTheModel) {
  const auto ops = make_dry_ops();
  const auto collectives = make_dry_collectives(Mesh(spec::MeshSpec(), 0), communication(spec::RunSpec()));
  Memory memory(make_dry_backing(), make_dry_backing(), {});
  PhaseClock clock;
  Context context{*ops, memory, *collectives, clock};
  std::vector<Tensor> alive;
  const auto allocate = [&](const char* name) { alive.push_back(context.activation(name, Shape{64})); };
  allocate("weights");
  PeakWitness witness(context, "setup");
  const auto expect = [&](const char* phase, const char* range, const char* tensor) {
    const auto moment = witness.moment();
    EXPECT_EQ(moment.phase, phase);
    EXPECT_EQ(moment.range, range);
    EXPECT_EQ(moment.tensor, tensor);
  };
  expect("setup", "", "weights");
  {
    PhaseClock::Scope backward(clock, Phase::backward);
    const RangeSpan layer(context.trace, "layers.3");
    {
      const RangeSpan again(context.trace, "recompute");
      PhaseClock::Scope waiting(clock, Phase::exposed_comm);
      allocate("gathered");
    }
    expect("backward", "layers.3 recompute", "gathered");
    alive.pop_back();
    allocate("no more than there was");
  }
  expect("backward", "layers.3 recompute", "gathered");
  allocate("in no phase");
  expect("other", "", "in no phase");
  witness.enter("evaluation");
  PhaseClock::Scope forward(clock, Phase::forward);
  allocate("scores");
  expect("evaluation", "", "scores");
}

}  // namespace
}  // namespace perfbench::engine
