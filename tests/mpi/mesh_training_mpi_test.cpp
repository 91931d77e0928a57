// Every mesh trains like one rank, and uses exactly the memory and traffic of the dry walk.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <span>
#include <sstream>
#include <string>

#include "engine/data/synthetic_documents.h"
#include "engine/metrics/record_files.h"
#include "engine/train/traced_steps.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/random_runs.h"
#include "tests/mpi/mesh_training.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/remat_policy.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::engine {
namespace {

// The meshes that this number of ranks can form.
std::vector<MeshCase> meshes() {
  const auto n = world().size();
  std::vector<MeshCase> all{{"fsdp", {.ici = {.fsdp = n}}}, {"dp", {.ici = {.dp = n}}}};
  if (n >= 4) {
    all.push_back({"dp2 x fsdp", {.ici = {.dp = 2, .fsdp = n / 2}}});
    all.push_back({"dcn.fsdp2 x ici.fsdp", {.ici = {.fsdp = n / 2}, .dcn = {.fsdp = 2}}});
    all.push_back({"dcn.dp2 x ici.fsdp", {.ici = {.fsdp = n / 2}, .dcn = {.dp = 2}}});
  }
  // The models here have four heads; in the model with two key and value heads, each of four ranks has these whole.
  if (n == 2 || n == 4) all.push_back({"tp", {.ici = {.tp = n}}});
  if (n == 4) all.push_back({"dcn.tp2 x ici.tp2", {.ici = {.tp = 2}, .dcn = {.tp = 2}}});
  if (n >= 4) {
    all.push_back({"fsdp x tp2", {.ici = {.fsdp = n / 2, .tp = 2}}});
    all.push_back({"dcn.dp x ici.tp2", {.ici = {.tp = 2}, .dcn = {.dp = n / 2}}});
  }
  if (n == 2 || n == 4) {
    all.push_back({"pp", {.ici = {.pp = n}}});
    all.push_back({"dcn.pp", {.dcn = {.pp = n}}});
  }
  if (n >= 4) {
    all.push_back({"pp2 x fsdp", {.ici = {.fsdp = n / 2, .pp = 2}}});
    all.push_back({"dcn.pp2 x ici.dp", {.ici = {.dp = n / 2}, .dcn = {.pp = 2}}});
    all.push_back({"pp x tp2", {.ici = {.tp = 2, .pp = n / 2}}});
  }
  if (n == 8) {
    all.push_back({"dcn.pp2 x ici.pp2 x tp2", {.ici = {.tp = 2, .pp = 2}, .dcn = {.pp = 2}}});
    all.push_back({"pp2 x fsdp2 x tp2", {.ici = {.fsdp = 2, .tp = 2, .pp = 2}}});
    all.push_back({"dcn.fsdp2 x ici.tp4", {.ici = {.tp = 4}, .dcn = {.fsdp = 2}}});
    all.push_back({"dp2 x fsdp2 x tp2", {.ici = {.dp = 2, .fsdp = 2, .tp = 2}}});
  }
  return all;
}

// Products of each rank's columns of the vocabulary, 20 tokens at a time.
spec::RunSpec one_hot(spec::RunSpec run) {
  run.model.name += " one-hot";
  run.embedding = spec::EmbeddingKind::one_hot;
  run.loss_chunk_tokens = 20;
  return run;
}

TEST(MeshTraining, EveryMeshEqualsOneRank) {
  for (const auto& mesh : meshes()) {
    for (auto run : {gpt_tiny(), llama_tiny(), qwen3_tiny(), t5_tiny(), lora_tiny(), lora_mlp_tiny(),
                     one_hot(gpt_tiny()), one_hot(llama_tiny()), dropped(gpt_tiny()), dropped(llama_tiny())}) {
      run.mesh = mesh.mesh;
      run.model.layers = std::max(run.model.layers, run.mesh.pp());
      expect_one_ranks_training(run, run.model.name + " " + mesh.name);
    }
  }
}

// Counts differ between ranks, microbatches and steps. In the second run the first quarter of a step's sequences has no
// target at all; with four shards that is a whole rank's part.
TEST(MeshTraining, MeansOverTheTargetsOfAllRanksEqualOneRanks) {
  for (const auto& mesh : meshes()) {
    for (auto run : {gpt_tiny(), llama_tiny()}) {
      run.task = spec::Task::sft;
      run.mesh = mesh.mesh;
      run.model.layers = std::max(run.model.layers, run.mesh.pp());
      run.grad_accum = 2;
      run.global_batch = 16;
      const auto what = run.model.name + " sft " + mesh.name;
      expect_one_ranks_training(run, what);
      expect_one_ranks_training(run, what + ", ranks without targets", [](const spec::RunSpec& own) {
        return make_synthetic_documents(own, [drawn = drawn_documents(own)](std::int64_t sequence) {
          return sequence % 16 < 4 ? DocumentOfRow{17, 17} : drawn(sequence);
        });
      });
    }
  }
}

// Rows of several documents: every stage of a pipeline attends within documents, whether it reads tokens or not.
TEST(MeshTraining, DocumentsInARowEqualOneRanks) {
  for (const auto& mesh : meshes()) {
    for (auto run : {packed(gpt_tiny()), packed(llama_tiny())}) {
      run.mesh = mesh.mesh;
      run.model.layers = std::max(run.model.layers, run.mesh.pp());
      run.grad_accum = 2;
      run.global_batch = 16;
      expect_one_ranks_training(run, run.model.name + " " + mesh.name);
    }
  }
}

// Three ranks along tp, which divide nothing but the heads: 44 tokens, a vocabulary of 97 or 101, a hidden width of 80
// or 128; key and value heads of each rank's own, and one that all share.
TEST(MeshTraining, OddSizesOverThreeRanksEqualOneRank) {
  if (world().size() != 3) GTEST_SKIP() << "needs three ranks";
  for (auto run :
       {gpt_tiny(), llama_tiny(), qwen3_tiny(), t5_tiny(), lora_tiny(), lora_mlp_tiny(), dropped(llama_tiny())}) {
    run.model.n_heads = 6;
    run.model.n_kv_heads = run.model.tied_embedding ? 6 : 1;
    run.mesh.ici.tp = 3;
    run.seq_len = 11;
    run.global_batch = 4;
    for (const auto precision : {spec::Precision::fp32, spec::Precision::bf16}) {
      run.precision = precision;
      expect_one_ranks_training(run, run.model.name + " " + std::string(spec::enum_name(precision)));
    }
  }
}

// Schedules of both kinds, with and without shards and parts of layers; microbatches more and fewer than stages, layers
// that the stages do not divide, several ranks at one end of a tied embedding.
TEST(MeshTraining, PipelinesOfManyMicrobatchesEqualOneRank) {
  const auto n = world().size();
  if (n == 1) GTEST_SKIP() << "needs two ranks";
  std::vector<MeshCase> pipelines{{"pp", {.ici = {.pp = n}}}};
  if (n >= 4) {
    pipelines.push_back({"pp2 x fsdp", {.ici = {.fsdp = n / 2, .pp = 2}}});
    pipelines.push_back({"pp x tp2", {.ici = {.tp = 2, .pp = n / 2}}});
  }
  for (const auto& mesh : pipelines) {
    for (auto run : {gpt_tiny(), llama_tiny(), lora_mlp_tiny(), dropped(gpt_tiny())}) {
      run.mesh = mesh.mesh;
      const auto stages = run.mesh.pp();
      for (const std::int64_t chunks : {1, 2}) {
        run.pipeline_chunks = chunks;
        run.model.layers = 2 * stages + 1;
        run.grad_accum = 2 * stages;
        run.global_batch = run.grad_accum * run.mesh.data_shards();
        const auto what = run.model.name + " " + mesh.name + " chunks " + std::to_string(chunks);
        expect_one_ranks_training(run, what);
        run.remat = "full";
        run.fsdp_prefetch = 0;
        if (chunks == 1) run.grad_accum = stages - 1;
        run.global_batch = run.grad_accum * run.mesh.data_shards();
        expect_one_ranks_training(run, what + " full");
        run.remat = "none";
        run.fsdp_prefetch = 1;
      }
    }
  }
}

// Recomputation repeats its collectives.
TEST(MeshTraining, EveryPolicyHoldsWhereRanksShareALayer) {
  if (world().size() != 2) GTEST_SKIP() << "needs two ranks";
  for (auto run : {gpt_tiny(), llama_tiny(), qwen3_tiny(), t5_tiny(), lora_tiny(), dropped(gpt_tiny())}) {
    run.mesh.ici.tp = 2;
    run.attention = spec::AttentionKind::dot_product;
    TrainingRun kept(run, first_weights(run), collectives_of(run));
    const auto expected = kept.all_steps();
    for (const auto& policy : spec::remat_policy_names()) {
      if (policy == spec::kCustomRemat) continue;
      run.remat = policy;
      TrainingRun training(run, first_weights(run), collectives_of(run));
      const auto steps = training.all_steps();
      for (std::size_t i = 0; i < steps.size(); ++i) {
        EXPECT_EQ(steps[i].loss, expected[i].loss) << policy << " step " << i;
        EXPECT_EQ(steps[i].grad_norm, expected[i].grad_norm) << policy << " step " << i;
      }
    }
    run.remat = "full";
    expect_one_ranks_training(run, run.model.name + " full");
  }
}

TEST(MeshTraining, PrefetchingChangesTheMemoryNotTheResult) {
  for (auto run : {gpt_tiny(), llama_tiny(), t5_tiny()}) {
    run.mesh.ici.fsdp = world().size();
    for (const std::int64_t ahead : {0, 1}) {
      run.fsdp_prefetch = ahead;
      expect_one_ranks_training(run, run.model.name + " prefetch " + std::to_string(ahead));
    }
  }
}

// Nor does it change a bit: weights that are kept, or rounded earlier, equal those rounded at their turn.
TEST(MeshTraining, PrefetchingChangesNoBit) {
  for (auto run : {gpt_tiny(), llama_tiny()}) {
    run.precision = spec::Precision::bf16;
    run.rounding = spec::Rounding::stochastic;
    run.grad_accum = 2;
    run.global_batch = 2 * world().size();
    run.mesh.ici.fsdp = world().size();
    run.fsdp_prefetch = 0;
    const auto in_turn = TrainingRun(run, first_weights(run), collectives_of(run)).all_steps();
    run.fsdp_prefetch = 1;
    const auto ahead = TrainingRun(run, first_weights(run), collectives_of(run)).all_steps();
    ASSERT_EQ(ahead.size(), in_turn.size());
    for (std::size_t i = 0; i < ahead.size(); ++i) {
      EXPECT_EQ(ahead[i].loss, in_turn[i].loss) << run.model.name << " step " << i;
      EXPECT_EQ(ahead[i].grad_norm, in_turn[i].grad_norm) << run.model.name << " step " << i;
    }
  }
}

// Each rank's shard, when its reduction has ended: beside the next layer's gradients or at once.
TEST(MeshTraining, UpdatesInTheBackwardPassChangeNoBit) {
  for (auto run : {gpt_tiny(), llama_tiny(), lora_tiny()}) {
    run.mesh.ici.fsdp = world().size();
    run.optimizer.clip_norm = 0;
    for (const std::int64_t ahead : {0, 1}) {
      run.fsdp_prefetch = ahead;
      run.optimizer.in_backward = false;
      const auto behind = TrainingRun(run, first_weights(run), collectives_of(run)).all_steps();
      run.optimizer.in_backward = true;
      expect_one_ranks_training(run, run.model.name + " in the backward pass");
      const auto within = TrainingRun(run, first_weights(run), collectives_of(run)).all_steps();
      for (std::size_t i = 0; i < within.size(); ++i) EXPECT_EQ(within[i].loss, behind[i].loss) << run.model.name << i;
    }
  }
}

// Gradients that several ranks hold, in one message for each layer or in many: for the weights of all ranks (dp), and
// beside shards of them.
TEST(MeshTraining, PartsOfAnAllReduceChangeItsMessagesAndNoBit) {
  const auto n = world().size();
  if (n == 1) GTEST_SKIP() << "needs two ranks";
  std::vector<MeshCase> replicas{{"dp", {.ici = {.dp = n}}}};
  if (n >= 4) replicas.push_back({"dcn.dp x ici.tp2", {.ici = {.tp = 2}, .dcn = {.dp = n / 2}}});
  if (n >= 4) replicas.push_back({"dcn.dp2 x ici.dp", {.ici = {.dp = n / 2}, .dcn = {.dp = 2}}});
  const auto sent = [](TrainingRun& training, auto field) {
    std::int64_t sum = 0;
    for (const auto& row : training.collectives().traffic()) {
      if (row.collective != "all_reduce" || row.axis.find("dp") == std::string::npos) continue;
      sum += row.*field;
    }
    return sum;
  };
  for (const auto& mesh : replicas) {
    for (auto run : {gpt_tiny(), llama_tiny()}) {
      run.mesh = mesh.mesh;
      const auto what = run.model.name + " " + mesh.name;
      TrainingRun whole(run, first_weights(run), collectives_of(run));
      const auto expected = whole.all_steps();
      run.all_reduce_combine_bytes = 10'000;
      TrainingRun parts(run, first_weights(run), collectives_of(run));
      const auto steps = parts.all_steps();
      for (std::size_t i = 0; i < steps.size(); ++i) {
        EXPECT_EQ(steps[i].loss, expected[i].loss) << what << " step " << i;
        EXPECT_EQ(steps[i].grad_norm, expected[i].grad_norm) << what << " step " << i;
      }
      EXPECT_EQ(sent(parts, &spec::AxisTraffic::payload_bytes), sent(whole, &spec::AxisTraffic::payload_bytes)) << what;
      EXPECT_GE(sent(parts, &spec::AxisTraffic::messages), sent(parts, &spec::AxisTraffic::payload_bytes) / 10'000)
          << what;
      EXPECT_LT(sent(whole, &spec::AxisTraffic::messages), sent(parts, &spec::AxisTraffic::messages)) << what;
      expect_one_ranks_training(run, what);
    }
  }
}

TEST(MeshTraining, AccumulationAndRematHoldOnAMesh) {
  for (auto run : {gpt_tiny(), llama_tiny()}) {
    run.global_batch = 16;
    run.grad_accum = 2;
    run.remat = "full";
    run.mesh.ici.fsdp = world().size();
    expect_one_ranks_training(run, run.model.name + " accumulated");
  }
}

// A traced mesh trains like an untraced one. Its trace has every collective twice: submitted on the schedule lane, and
// running there or on the lane of its own thread, within the step.
TEST(MeshTraining, ATraceHasEveryCollectiveWhereItRan) {
  if (device_under_test() != spec::Device::cpu) GTEST_SKIP() << "what a GPU does is traced by CUPTI";
  auto run = llama_tiny();
  run.mesh.ici.fsdp = world().size();
  if (world().size() == 4) run.mesh.ici = {.fsdp = 2, .tp = 2};
  if (world().size() == 8) run.mesh.ici = {.fsdp = 2, .tp = 2, .pp = 2};
  TrainingRun traced(run, first_weights(run), collectives_of(run));
  TrainingRun plain(run, first_weights(run), collectives_of(run));
  const auto file = std::filesystem::path(testing::TempDir()) / ("mesh." + std::to_string(::getpid()) + ".jsonl");
  StepTracer tracer(traced.context(), traced.trainer(), run, nullptr);
  ASSERT_EQ(tracer.finish(file, 0, 1), "");
  plain.step();
  EXPECT_EQ(traced.trainer().step(1).loss, plain.step().loss);
  std::map<std::int64_t, std::string> handed_over;
  std::map<std::int64_t, std::string> ran;
  std::map<std::int64_t, int> lanes;
  spec::TraceEvent step;
  std::istringstream lines(read_whole_file(file));
  std::filesystem::remove(file);
  for (std::string line; std::getline(lines, line);) {
    const auto parsed = spec::parse_trace_line(line);
    const auto* event = std::get_if<spec::TraceEvent>(&parsed);
    if (event == nullptr) {
      EXPECT_EQ(std::get<spec::TraceEnd>(parsed).dropped_records, 0);
      continue;
    }
    if (event->kind == spec::TraceKind::step) step = *event;
    if (event->kind == spec::TraceKind::submit) handed_over[event->correlation] = event->name + event->axis;
    if (event->kind != spec::TraceKind::collective) continue;
    ++lanes[event->lane];
    EXPECT_GE(event->start_ns, step.start_ns);
    EXPECT_LE(event->end_ns, step.end_ns);
    EXPECT_GT(event->bytes, 0);
    ran[event->correlation] = event->name + event->axis;
  }
  EXPECT_EQ(ran, handed_over);
  EXPECT_EQ(ran.empty(), world().size() == 1);
  EXPECT_EQ(lanes.size(), world().size() == 1 ? 0U : 2U);
}

TEST(MeshTraining, Bf16HoldsOnAMesh) {
  auto with_f32_logits = gpt_tiny();
  with_f32_logits.model.name += " f32 logits";
  with_f32_logits.logits = spec::LogitsType::fp32;
  for (auto run : {gpt_tiny(), llama_tiny(), lora_tiny(), with_f32_logits}) {
    run.precision = spec::Precision::bf16;
    run.mesh.ici.fsdp = world().size();
    expect_one_ranks_training(run, run.model.name + " bf16");
    if (world().size() != 4) continue;
    run.mesh.ici = {.fsdp = 2, .tp = 2};
    expect_one_ranks_training(run, run.model.name + " bf16 fsdp2 x tp2");
  }
}

// Inputs and gradients of a rank are rounded with the scales of all ranks; a maximum over these is one more collective
// in a step.
TEST(MeshTraining, Fp8HoldsOnAMesh) {
  for (auto run : {gpt_tiny(), llama_tiny()}) {
    run.precision = spec::Precision::fp8;
    run.model.d_ff = 96;  // GPUs can multiply its halves
    run.mesh.ici.fsdp = world().size();
    expect_one_ranks_training(run, run.model.name + " fp8");
    if (world().size() != 2) continue;
    run.mesh.ici = {.tp = 2};
    expect_one_ranks_training(run, run.model.name + " fp8 tp2");
  }
}

// The gathering reads this rank's shard as the update wrote it, instead of casting it.
TEST(MeshTraining, KeptBf16WeightsGiveTheBitsOfCastOnes) {
  for (const auto& mesh : meshes()) {
    auto run = llama_tiny();
    run.precision = spec::Precision::bf16;
    run.mesh = mesh.mesh;
    run.model.layers = std::max(run.model.layers, run.mesh.pp());
    TrainingRun cast(run, first_weights(run), collectives_of(run));
    const auto expected = cast.all_steps();
    run.bf16_weights = spec::Bf16Weights::kept;
    expect_one_ranks_training(run, std::string("bf16 kept ") + mesh.name);
    TrainingRun kept(run, first_weights(run), collectives_of(run));
    const auto steps = kept.all_steps();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      EXPECT_EQ(steps[i].loss, expected[i].loss) << mesh.name << " step " << i;
      EXPECT_EQ(steps[i].grad_norm, expected[i].grad_norm) << mesh.name << " step " << i;
    }
  }
}

// One rank's trainings of these runs from equal first weights; other ranks do some of the runs.
std::vector<std::vector<TrainedStep>> trained_apart(const std::vector<spec::RunSpec>& runs, const InitRule& init) {
  const auto ranks = static_cast<std::size_t>(world().size());
  const auto steps = static_cast<std::ptrdiff_t>(runs.front().steps);
  std::vector<std::vector<TrainedStep>> out;
  for (std::size_t first = 0; first < runs.size(); first += ranks) {
    const auto mine = first + static_cast<std::size_t>(world().rank());
    std::vector<TrainedStep> own(static_cast<std::size_t>(steps));
    if (mine < runs.size()) own = TrainingRun(runs[mine], init, make_single_collectives()).all_steps();
    std::vector<TrainedStep> all(own.size() * ranks);
    world().all_gather(std::as_writable_bytes(std::span(all)), std::as_bytes(std::span(own)));
    for (auto of = all.begin(); of != all.end() && out.size() < runs.size(); of += steps) {
      out.emplace_back(of, of + steps);
    }
  }
  return out;
}

// The largest relative difference of a loss, of experts' balance or of a norm.
double distance(const std::vector<TrainedStep>& from, const std::vector<TrainedStep>& to) {
  double out = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    out = std::max(out, std::abs(from[i].loss - to[i].loss) / to[i].loss);
    out = std::max(out, std::abs(from[i].grad_norm - to[i].grad_norm) / to[i].grad_norm);
    const double balance = to[i].balance_loss;
    if (balance > 0) out = std::max(out, std::abs(from[i].balance_loss - balance) / balance);
  }
  return out;
}

// fp32: as above, where the longest sum that ranks may share is over tokens, hidden width or vocabulary.
//
// bf16, fp8, moments and gradients in bf16: ranks round their parts of a sum, one rank rounds the sum. The effect of
// such errors on so small a model is observed on one rank, with roundings of the weights or moments to nearest and at
// random. The largest observed distance from fp32 is taken as the largest that any rounding causes, and two runs within
// it differ by at most twice that. One rank rounds a gradient only once: more roundings are observed by computing
// gradients in as many parts as ranks, each of whose sums is rounded.
void expect_random_run(const spec::RunSpec& run, const std::string& what) {
  const auto alone = on_one_rank(run);
  std::vector<spec::RunSpec> runs{alone};
  const bool bf16 = spec::computes_in_bf16(run.precision);
  const auto& optimizer = run.optimizer;
  if (bf16 || optimizer.moments == spec::StateType::bf16 || optimizer.gradients == spec::StateType::bf16) {
    auto other = alone;
    other.precision = spec::Precision::fp32;
    other.rounding = spec::Rounding::nearest;
    other.bf16_weights = spec::Bf16Weights::cast;
    other.optimizer.moments = spec::StateType::fp32;
    other.optimizer.gradients = spec::StateType::fp32;
    runs.push_back(other);
    other.precision = run.precision;
    other.optimizer = optimizer;
    runs.push_back(other);
    // Only if no choice of an expert depends on its part.
    if (optimizer.gradients == spec::StateType::bf16 && run.model.moe.capacity_factor == 0) {
      for (const std::int64_t parts : {run.mesh.fsdp(), run.mesh.dp() * run.mesh.fsdp()}) {
        runs.push_back(other);
        runs.back().grad_accum *= parts;
      }
    }
    if (bf16) other.rounding = spec::Rounding::stochastic;
    for (const std::int64_t draws : {1, 2, 3, 4, 5}) {
      other.seed = run.seed + draws;
      runs.push_back(other);
    }
  }
  const auto trained = trained_apart(runs, first_weights(run));
  const auto longest_sum =
      std::max({run.global_batch * run.seq_len, run.model.d_ff, run.model.moe.d_ff, run.model.vocab_size});
  double tolerance = static_cast<double>(longest_sum + world().size()) * 0x1p-24 * kThroughAdamw;
  for (std::size_t i = 0; i < trained.size() && trained.size() > 1; ++i) {
    tolerance = std::max(tolerance, 2 * distance(trained[i], trained[1]));
  }
  expect_training(run, trained.front(), tolerance, what);
}

TEST(MeshTraining, RandomRunsEqualOneRank) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    auto run = with_room_for_all(random_run(seed, world().size(), device_under_test()));
    // A gradient near zero may change its sign when it is rounded; with AdamW's usual eps that changes a whole step of
    // the learning rate. The few roundings on one rank do not show enough of this.
    if (run.optimizer.gradients == spec::StateType::bf16) run.optimizer.eps = 1e-4;
    expect_random_run(run, "seed " + std::to_string(seed) + " " + spec::canonical_json(run));
  }
}

}  // namespace
}  // namespace perfbench::engine
