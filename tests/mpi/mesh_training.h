// A training on the available ranks, compared with that of one rank: its numbers within a tolerance, its memory and
// traffic exactly as in the dry walk.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/train/dry_walk.h"
#include "tests/engine/random_runs.h"
#include "tests/engine/training.h"
#include "tests/mpi/mesh_collectives.h"
#include "tests/mpi/mpi_world.h"

namespace perfbench::engine {

struct MeshCase {
  const char* name;
  spec::MeshSpec mesh;
};

// Ranks sum their parts of a gradient in another order than one rank does: a relative error of gamma_n = n u / (1 - n
// u), u = 2^-24, of the sum of magnitudes (Higham, "Accuracy and Stability", 4.2), where n is at most the 128 tokens of
// a step plus the ranks. AdamW's early steps have the size of the learning rate whatever the gradient's size, so an
// error of a small gradient becomes one of a weight: over three steps that is at most another factor of 100 at these
// widths.
inline constexpr double kOtherOrder = 136.0 * 0x1p-24;
inline constexpr double kThroughAdamw = 100.0;
// In bf16, a value that differs by an ulp may be rounded to the other neighbour: 2^-8 of single values, averaged over
// the batch. Ranks along tp round their parts of a sum before they are added, each by the same amount. A norm of heads
// rounds queries and keys once more. The weights of a step carry the roundings of all earlier updates: the same amount
// again for each.
inline constexpr double kBf16 = 0x1p-8;
// A bf16 number that is rounded to the other neighbour crosses a middle between two e4m3 numbers once in 16 times,
// because 16 bf16 numbers lie between those. It then moves the operand by 2^-3: as a random walk by 2^-3 / sqrt(16) of
// it.
inline constexpr double kFp8 = 0x1p-5;
inline double after_updates(const spec::RunSpec& run, double tolerance, std::size_t updates) {
  return spec::computes_in_bf16(run.precision) ? tolerance * static_cast<double>(1 + updates) : tolerance;
}
inline double bf16_tolerance(const spec::RunSpec& run) {
  const std::int64_t of_heads = run.model.qk_norm == spec::QkNorm::none ? 0 : 1;
  const double of_operands = run.precision == spec::Precision::fp8 ? kFp8 / kBf16 : 1;
  return kBf16 * of_operands * static_cast<double>(of_heads + (run.mesh.tp() > 1 ? 1 + run.mesh.tp() : 1));
}

inline void expect_same_traffic(const std::vector<spec::AxisTraffic>& real, const std::vector<spec::AxisTraffic>& dry,
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

inline spec::RunSpec on_one_rank(spec::RunSpec run) {
  run.mesh = {};
  run.pipeline_chunks = 1;
  run.expert_buffer_factor = spec::RunSpec().expert_buffer_factor;
  return run;
}

// A choice between almost equal experts may change with the rounding of products or gradients in bf16; then another
// choice may be dropped.
inline void expect_same_use_of_experts(const spec::RunSpec& run, const spec::StepRecord& real,
                                       const TrainedStep& expected, double tolerance, const std::string& what) {
  EXPECT_NEAR(real.balance_loss, expected.balance_loss, tolerance * expected.balance_loss) << what;
  if (spec::computes_in_bf16(run.precision) || run.optimizer.gradients == spec::StateType::bf16) return;
  EXPECT_EQ(real.dropped_choices, expected.dropped_choices) << what;
  // The same f32 numbers, in f64 sums of another order.
  EXPECT_NEAR(real.expert_load, expected.expert_load, 1e-12 * expected.expert_load) << what;
}

// The steps equal those of one rank within a relative tolerance, with memory and traffic as in the dry walk.
inline void expect_training(const spec::RunSpec& run, const std::vector<TrainedStep>& expected, double tolerance,
                            const std::string& what, const MakeTokens& tokens = make_token_source) {
  TrainingRun training(run, first_weights(run), collectives_of(run), tokens);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    training.collectives().reset_traffic();
    const auto record = training.step();
    const double within = after_updates(run, tolerance, i);
    EXPECT_NEAR(record.loss, expected[i].loss, within * expected[i].loss) << what << " step " << i;
    EXPECT_NEAR(record.grad_norm, expected[i].grad_norm, within * expected[i].grad_norm) << what << " step " << i;
    EXPECT_EQ(record.loss_tokens, expected[i].loss_tokens) << what << " step " << i;
    EXPECT_EQ(record.padding_tokens, expected[i].padding_tokens) << what << " step " << i;
    expect_same_use_of_experts(run, record, expected[i], within, what + " step " + std::to_string(i));
    // Some stage always waits for another: if there are several, each does.
    EXPECT_EQ(record.bubble_ns > 0, run.mesh.pp() > 1) << what;
    std::int64_t exposed_ns = 0;
    for (const auto& row : training.collectives().traffic()) exposed_ns += row.exposed_ns;
    // With a GPU the host does not wait for single collectives.
    EXPECT_EQ(exposed_ns > 0, world().size() > 1 && device_under_test() == spec::Device::cpu) << what;
    EXPECT_LE(exposed_ns, record.exposed_comm_ns + record.bubble_ns) << what;
    EXPECT_EQ(record.data_ns + record.forward_ns + record.backward_ns + record.exposed_comm_ns + record.bubble_ns +
                  record.optimizer_ns + record.other_ns,
              record.wall_ns)
        << what;
  }
  const auto traffic = training.collectives().traffic();
  training.trainer().evaluate_at_end();
  const auto dry = dry_walk(training.run(), world().rank());
  expect_planned_memory(training, dry, what);
  expect_same_traffic(traffic, dry.traffic, what);
}

inline void expect_one_ranks_training(const spec::RunSpec& run, const std::string& what,
                                      const MakeTokens& tokens = make_token_source) {
  const bool bf16 = spec::computes_in_bf16(run.precision);
  const double tolerance = bf16 ? bf16_tolerance(run) : kOtherOrder * kThroughAdamw;
  const auto alone = on_one_rank(run);
  const auto expected = TrainingRun(alone, first_weights(alone), make_single_collectives(), tokens).all_steps();
  expect_training(run, expected, tolerance, what, tokens);
}

// Enough room for any choice of experts.
inline spec::RunSpec with_room_for_all(spec::RunSpec run) {
  if (has_expert_buffer(run)) run.expert_buffer_factor = static_cast<double>(run.mesh.ep());
  return run;
}

}  // namespace perfbench::engine
