// Every mesh trains as one rank does, and uses exactly the memory and the traffic that the dry walk says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <span>
#include <sstream>
#include <string>

#include "engine/core/error.h"
#include "engine/data/synthetic_documents.h"
#include "engine/metrics/record_files.h"
#include "engine/train/dry_walk.h"
#include "engine/train/traced_steps.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/random_runs.h"
#include "tests/engine/training.h"
#include "tests/mpi/mpi_world.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/remat_policy.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::engine {
namespace {

struct MeshCase {
  const char* name;
  spec::MeshSpec mesh;
};

// The meshes that this number of ranks can form.
std::vector<MeshCase> meshes() {
  const auto n = world().size();
  std::vector<MeshCase> all{{"fsdp", {.ici = {.fsdp = n}}}, {"dp", {.ici = {.dp = n}}}};
  if (n >= 4) {
    all.push_back({"dp2 x fsdp", {.ici = {.dp = 2, .fsdp = n / 2}}});
    all.push_back({"dcn.fsdp2 x ici.fsdp", {.ici = {.fsdp = n / 2}, .dcn = {.fsdp = 2}}});
    all.push_back({"dcn.dp2 x ici.fsdp", {.ici = {.fsdp = n / 2}, .dcn = {.dp = 2}}});
  }
  // The models here have four heads; the one of two key and value heads has them whole on each of four ranks.
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

std::unique_ptr<Collectives> collectives_of(const spec::RunSpec& run) {
  return world().make_collectives(Mesh(run.mesh, world().rank()), communication());
}

// Ranks sum their parts of a gradient in another order than one rank does: a relative error of gamma_n = n u / (1 - n
// u), u = 2^-24, of the sum of magnitudes (Higham, "Accuracy and Stability", 4.2), n at most the 128 tokens of a step
// plus the ranks. AdamW's early steps have the size of the learning rate whatever the gradient's size, so that an error
// of a small gradient becomes one of a weight: over three steps that is at most another factor of 100 at these widths.
constexpr double kOtherOrder = 136.0 * 0x1p-24;
constexpr double kThroughAdamw = 100.0;
// bf16 additionally rounds what differs by an ulp to the other neighbour: 2^-8 of single values, averaged over the
// batch. Ranks along tp round their parts of a sum, each by as much, before they are added. A norm of heads rounds
// queries and keys once more.
constexpr double kBf16 = 0x1p-8;
double bf16_tolerance(const spec::RunSpec& run) {
  const std::int64_t of_heads = run.model.qk_norm == spec::QkNorm::none ? 0 : 1;
  return kBf16 * static_cast<double>(of_heads + (run.mesh.tp() > 1 ? 1 + run.mesh.tp() : 1));
}

void expect_same_traffic(const std::vector<spec::AxisTraffic>& real, const std::vector<spec::AxisTraffic>& dry,
                         const std::string& what) {
  ASSERT_EQ(real.size(), dry.size()) << what;
  EXPECT_EQ(real.empty(), world().size() == 1) << what;
  for (std::size_t i = 0; i < real.size(); ++i) {
    EXPECT_EQ(real[i].axis, dry[i].axis) << what;
    EXPECT_EQ(real[i].collective, dry[i].collective) << what;
    EXPECT_EQ(real[i].messages, dry[i].messages) << what << ' ' << dry[i].axis << ' ' << dry[i].collective;
    EXPECT_EQ(real[i].payload_bytes, dry[i].payload_bytes) << what << ' ' << dry[i].axis << ' ' << dry[i].collective;
    EXPECT_EQ(real[i].sent_bytes, dry[i].sent_bytes) << what << ' ' << dry[i].axis << ' ' << dry[i].collective;
  }
}

spec::RunSpec on_one_rank(spec::RunSpec run) {
  run.mesh = {};
  run.pipeline_chunks = 1;
  run.expert_buffer_factor = spec::RunSpec().expert_buffer_factor;
  return run;
}

// A choice between experts that are almost equally good may turn over with what bf16 rounds; one that is dropped then
// is another.
void expect_same_use_of_experts(const spec::RunSpec& run, const spec::StepRecord& real, const TrainedStep& expected,
                                double tolerance, const std::string& what) {
  EXPECT_NEAR(real.balance_loss, expected.balance_loss, tolerance * expected.balance_loss) << what;
  if (run.precision == spec::Precision::bf16) return;
  EXPECT_EQ(real.dropped_choices, expected.dropped_choices) << what;
  // The same f32 numbers, in f64 sums of another order.
  EXPECT_NEAR(real.expert_load, expected.expert_load, 1e-12 * expected.expert_load) << what;
}

// The steps of one rank, within a relative tolerance, and memory and traffic as the dry walk says.
void expect_training(const spec::RunSpec& run, const std::vector<TrainedStep>& expected, double tolerance,
                     const std::string& what, const MakeTokens& tokens = make_token_source) {
  TrainingRun training(run, first_weights(run), collectives_of(run), tokens);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    training.collectives().reset_traffic();
    const auto record = training.step();
    EXPECT_NEAR(record.loss, expected[i].loss, tolerance * expected[i].loss) << what << " step " << i;
    EXPECT_NEAR(record.grad_norm, expected[i].grad_norm, tolerance * expected[i].grad_norm) << what << " step " << i;
    EXPECT_EQ(record.loss_tokens, expected[i].loss_tokens) << what << " step " << i;
    EXPECT_EQ(record.padding_tokens, expected[i].padding_tokens) << what << " step " << i;
    expect_same_use_of_experts(run, record, expected[i], tolerance, what + " step " + std::to_string(i));
    // Some stage always waits for another: of several, each.
    EXPECT_EQ(record.bubble_ns > 0, run.mesh.pp() > 1) << what;
    std::int64_t exposed_ns = 0;
    for (const auto& row : training.collectives().traffic()) exposed_ns += row.exposed_ns;
    EXPECT_EQ(exposed_ns > 0, world().size() > 1) << what;
    EXPECT_LE(exposed_ns, record.exposed_comm_ns + record.bubble_ns) << what;
    EXPECT_EQ(record.data_ns + record.forward_ns + record.backward_ns + record.exposed_comm_ns + record.bubble_ns +
                  record.optimizer_ns + record.other_ns,
              record.wall_ns)
        << what;
  }
  const auto dry = dry_walk(run, world().rank());
  const auto peaks = training.ledger().peaks();
  EXPECT_EQ(peaks.total_bytes, dry.peak.total_bytes) << what;
  EXPECT_EQ(peaks.gathered_bytes, dry.peak.gathered_bytes) << what;
  EXPECT_EQ(peaks.weights_bytes, dry.peak.weights_bytes) << what;
  EXPECT_EQ(peaks.gradients_bytes, dry.peak.gradients_bytes) << what;
  EXPECT_EQ(peaks.optimizer_bytes, dry.peak.optimizer_bytes) << what;
  EXPECT_EQ(peaks.activations_bytes, dry.peak.activations_bytes) << what;
  EXPECT_EQ(peaks.workspace_bytes, dry.peak.workspace_bytes) << what;
  EXPECT_EQ(peaks.host_bytes, dry.peak.host_bytes) << what;
  EXPECT_EQ(training.arena_bytes(), dry.arena_bytes) << what;
  expect_same_traffic(training.collectives().traffic(), dry.traffic, what);
}

void expect_one_ranks_training(const spec::RunSpec& run, const std::string& what,
                               const MakeTokens& tokens = make_token_source) {
  const bool bf16 = run.precision == spec::Precision::bf16;
  const double tolerance = bf16 ? bf16_tolerance(run) : kOtherOrder * kThroughAdamw;
  const auto alone = on_one_rank(run);
  const auto expected = TrainingRun(alone, first_weights(alone), make_single_collectives(), tokens).all_steps();
  expect_training(run, expected, tolerance, what, tokens);
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
                     one_hot(gpt_tiny()), one_hot(llama_tiny())}) {
      run.mesh = mesh.mesh;
      run.model.layers = std::max(run.model.layers, run.mesh.pp());
      expect_one_ranks_training(run, run.model.name + " " + mesh.name);
    }
  }
}

// Counts differ from rank to rank, from microbatch to microbatch and from step to step; and in the second run the first
// quarter of a step's sequences, which are whole ranks' where there are four shards, has no target at all.
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

// Rows of several documents: every stage of a pipeline attends within them, whether it reads tokens or not.
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

// Three ranks along tp, and nothing that they divide but the heads: 44 tokens, a vocabulary of 97 or 101, a hidden
// width of 80 or 128; key and value heads of each rank's own, and one that all share.
TEST(MeshTraining, OddSizesOverThreeRanksEqualOneRank) {
  if (world().size() != 3) GTEST_SKIP() << "needs three ranks";
  for (auto run : {gpt_tiny(), llama_tiny(), qwen3_tiny(), t5_tiny(), lora_tiny(), lora_mlp_tiny()}) {
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
// that they do not divide, several ranks at one end of a tied embedding.
TEST(MeshTraining, PipelinesOfManyMicrobatchesEqualOneRank) {
  const auto n = world().size();
  if (n == 1) GTEST_SKIP() << "needs two ranks";
  std::vector<MeshCase> pipelines{{"pp", {.ici = {.pp = n}}}};
  if (n >= 4) {
    pipelines.push_back({"pp2 x fsdp", {.ici = {.fsdp = n / 2, .pp = 2}}});
    pipelines.push_back({"pp x tp2", {.ici = {.tp = 2, .pp = n / 2}}});
  }
  for (const auto& mesh : pipelines) {
    for (auto run : {gpt_tiny(), llama_tiny(), lora_mlp_tiny()}) {
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

// What is computed again takes its collectives along.
TEST(MeshTraining, EveryPolicyHoldsWhereRanksShareALayer) {
  if (world().size() != 2) GTEST_SKIP() << "needs two ranks";
  for (auto run : {gpt_tiny(), llama_tiny(), qwen3_tiny(), t5_tiny(), lora_tiny()}) {
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

// Nor a bit of it: weights that are kept, or rounded earlier, are those of their turn.
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

TEST(MeshTraining, AccumulationAndRematHoldOnAMesh) {
  for (auto run : {gpt_tiny(), llama_tiny()}) {
    run.global_batch = 16;
    run.grad_accum = 2;
    run.remat = "full";
    run.mesh.ici.fsdp = world().size();
    expect_one_ranks_training(run, run.model.name + " accumulated");
  }
}

// A traced mesh trains as an untraced one, and its trace has every collective twice: handed over on the lane of the
// schedule, running there or on the lane of its own thread, within the step.
TEST(MeshTraining, ATraceHasEveryCollectiveWhereItRan) {
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

// The gathering reads what the update wrote of this rank's shard, in place of a cast of it.
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

// One rank's trainings of these runs from equal first weights, each made by another rank.
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
// bf16: ranks along tp round their parts of a sum, one rank the sum. How far errors of that size carry a model so small
// is seen on one rank, from roundings of the weights to nearest and at random: the farthest of them from fp32 is taken
// for the farthest that any rounding comes, and two that are no farther from fp32 are at most twice that apart.
void expect_random_run(const spec::RunSpec& run, const std::string& what) {
  const auto alone = on_one_rank(run);
  std::vector<spec::RunSpec> runs{alone};
  if (run.precision == spec::Precision::bf16) {
    auto other = alone;
    other.precision = spec::Precision::fp32;
    other.rounding = spec::Rounding::nearest;
    other.bf16_weights = spec::Bf16Weights::cast;
    runs.push_back(other);
    other.precision = spec::Precision::bf16;
    runs.push_back(other);
    other.rounding = spec::Rounding::stochastic;
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

// Whatever experts the tokens choose.
spec::RunSpec with_room_for_all(spec::RunSpec run) {
  if (has_expert_buffer(run)) run.expert_buffer_factor = static_cast<double>(run.mesh.ep());
  return run;
}

TEST(MeshTraining, RandomRunsEqualOneRank) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const auto run = with_room_for_all(random_run(seed, world().size(), spec::Device::cpu));
    expect_random_run(run, "seed " + std::to_string(seed) + " " + spec::canonical_json(run));
  }
}

// Experts over the ranks, by themselves and with every other axis.
std::vector<MeshCase> expert_meshes() {
  const auto n = world().size();
  std::vector<MeshCase> all{{"ep1", {.ici = {.fsdp = n}}}};
  if (n == 2 || n == 4) {
    all.push_back({"ep", {.ici = {.ep = n}}});
    all.push_back({"dcn.ep", {.dcn = {.ep = n}}});
  }
  if (n >= 4) {
    all.push_back({"ep2 x tp2", {.ici = {.dp = n / 4, .tp = 2, .ep = 2}}});
    all.push_back({"ep2 x fsdp", {.ici = {.fsdp = n / 2, .ep = 2}}});
    all.push_back({"dcn.ep2 x ici.dp", {.ici = {.dp = n / 2}, .dcn = {.ep = 2}}});
    all.push_back({"pp2 x ep2", {.ici = {.fsdp = n / 4, .ep = 2, .pp = 2}}});
  }
  if (n == 8) {
    all.push_back({"dcn.ep2 x ici.ep2 x fsdp2", {.ici = {.fsdp = 2, .ep = 2}, .dcn = {.ep = 2}}});
    all.push_back({"ep2 x tp2 x fsdp2", {.ici = {.fsdp = 2, .tp = 2, .ep = 2}}});
    all.push_back({"dcn.pp2 x ici.ep2 x tp2", {.ici = {.tp = 2, .ep = 2}, .dcn = {.pp = 2}}});
  }
  return all;
}

// Models whose gradients are as much the balancing loss's as the loss's: what scales it wrongly shows in the norm.
std::vector<spec::RunSpec> runs_with_experts() {
  std::vector<spec::RunSpec> all{dropless_tiny(), glam_tiny()};
  for (auto& run : all) run.model.moe.load_balance_weight = 1.0;
  return all;
}

TEST(MeshTraining, ExpertsOfBothKindsEqualOneRank) {
  for (const auto& mesh : expert_meshes()) {
    for (auto run : runs_with_experts()) {
      run.mesh = mesh.mesh;
      run.model.layers = 4;
      run.grad_accum = run.mesh.pp();
      run.global_batch = 2 * run.mesh.data_shards() * run.grad_accum;
      expect_one_ranks_training(with_room_for_all(run), run.model.name + " " + mesh.name);
    }
  }
}

// Nothing that ranks along tp divide but the heads: 35 tokens of a microbatch, a hidden width of 41, and of 83 between
// experts.
TEST(MeshTraining, ExpertsOfOddSizesEqualOneRank) {
  const auto n = world().size();
  if (n == 1 || n > 4) GTEST_SKIP() << "needs two to four ranks";
  std::vector<MeshCase> meshes{{"tp", {.ici = {.tp = n}}}, {"dcn.tp", {.dcn = {.tp = n}}}};
  if (n == 4) meshes.push_back({"ep2 x tp2", {.ici = {.tp = 2, .ep = 2}}});
  if (n == 3) meshes.push_back({"ep", {.ici = {.ep = 3}}});
  for (const auto& mesh : meshes) {
    for (auto run : runs_with_experts()) {
      run.mesh = mesh.mesh;
      run.model.n_heads = 12;
      run.model.n_kv_heads = 1;
      run.model.d_ff = 83;
      run.model.moe.n_experts = 6;
      run.model.moe.d_ff = 41;
      run.seq_len = 7;
      run.global_batch = 5 * run.mesh.data_shards();
      expect_one_ranks_training(with_room_for_all(run), run.model.name + " " + mesh.name);
    }
  }
}

// Half of the rows that the worst case takes, over four ranks, are enough for the tokens of this seed.
spec::RunSpec run_with_half_of_the_rows() {
  auto run = runs_with_experts().front();
  run.model.moe.n_experts = 16;
  run.mesh.ici.ep = 4;
  run.expert_buffer_factor = 2.0;
  run.seed = 50;
  return run;
}

TEST(MeshTraining, ASmallerBufferOfExpertsEqualsOneRank) {
  if (world().size() != 4) GTEST_SKIP() << "needs four ranks";
  expect_one_ranks_training(run_with_half_of_the_rows(), "half of the rows");
}

// Logits that are no numbers send all tokens to the same experts, which have no room for them: that a run has diverged
// is no reason to end it, and its record says so.
TEST(MeshTraining, ADivergedRunOfExpertsGoesOn) {
  if (world().size() != 4) GTEST_SKIP() << "needs four ranks";
  auto run = run_with_half_of_the_rows();
  run.optimizer.learning_rate = std::numeric_limits<double>::infinity();
  TrainingRun training(run, first_weights(run), collectives_of(run));
  EXPECT_TRUE(std::isfinite(training.step().loss));
  const auto diverged = training.step();
  EXPECT_FALSE(std::isfinite(diverged.loss));
  EXPECT_GT(diverged.dropped_choices, 0);
}

TEST(MeshTraining, EveryPolicyHoldsWhereExpertsAreDivided) {
  if (world().size() != 2) GTEST_SKIP() << "needs two ranks";
  for (auto run : {dropless_tiny(), glam_tiny()}) {
    for (const auto& mesh : {spec::MeshSpec{.ici = {.ep = 2}}, spec::MeshSpec{.ici = {.tp = 2}}}) {
      run.mesh = mesh;
      run.remat = "none";
      TrainingRun kept(run, first_weights(run), collectives_of(run));
      const auto expected = kept.all_steps();
      for (const auto& policy : spec::remat_policy_names()) {
        if (policy == spec::kCustomRemat) continue;
        run.remat = policy;
        TrainingRun training(run, first_weights(run), collectives_of(run));
        const auto steps = training.all_steps();
        for (std::size_t i = 0; i < steps.size(); ++i) {
          EXPECT_EQ(steps[i].loss, expected[i].loss) << run.model.name << ' ' << policy << " step " << i;
          EXPECT_EQ(steps[i].grad_norm, expected[i].grad_norm) << run.model.name << ' ' << policy << " step " << i;
        }
      }
      run.remat = "full";
      expect_one_ranks_training(run, run.model.name + " full");
    }
  }
}

// Who drops no token and has no room for one says so, on every rank alike.
TEST(MeshTraining, AnOverflowOfADroplessBufferEndsTheRun) {
  if (world().size() != 4) GTEST_SKIP() << "needs four ranks";
  auto run = dropless_tiny();
  run.mesh.ici.ep = 4;
  run.expert_buffer_factor = 1.0;  // no more than the even share
  TrainingRun training(run, first_weights(run), collectives_of(run));
  EXPECT_THAT([&] { training.step(); },
              testing::ThrowsMessage<EngineError>(testing::HasSubstr("expert_buffer_factor")));
}

}  // namespace
}  // namespace perfbench::engine
