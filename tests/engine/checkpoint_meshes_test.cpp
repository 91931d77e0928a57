// The ranks of one mesh save, those of another restore: the result must be the bits with which these would have begun.
// Initial values are drawn by an element's place in the whole parameter, whatever the mesh, and so are the moments
// here. So each rank knows without communication what it must find.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/checkpoint/restore.h"
#include "tests/engine/random_runs.h"
#include "tests/engine/scratch_folder.h"
#include "tests/engine/silent_collectives.h"
#include "tests/engine/training.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::engine {
namespace {

constexpr std::uint64_t kRandomRuns = 60;

class QuietRank final : public SilentCollectives {
 public:
  explicit QuietRank(const Mesh& mesh) : SilentCollectives(mesh, communication(spec::RunSpec())) {}
};

// One rank, with values that identify every element of every state.
class Rank {
 public:
  Rank(const spec::RunSpec& run, std::int64_t rank, std::uint64_t seed)
      : training_(run, {.seed = seed, .matrix_std = 0.2, .constants_std = 0.5},
                  std::make_unique<QuietRank>(Mesh(run.mesh, rank))) {
    auto& store = training_.trainer().parameters();
    for (auto& unit : store.units()) {
      for (const auto& p : unit.layout.parameters) {
        const auto part = store.part_here(unit.layout, p);
        for (const auto& [moment, name] : {std::pair{&unit.first_moment, ".m"}, std::pair{&unit.second_moment, ".v"}}) {
          if (part.count == 0 || !moment->defined()) continue;
          const Shape shape{part.count};
          const Tensor drawn(training_.context().memory, {"drawn", MemoryScope::workspace, DType::f32, shape});
          training_.context().ops.fill_normal({.out = drawn,
                                               .seed = seed,
                                               .stream = p.spec.name + name,
                                               .first_index = p.slice.first,
                                               .skip = part.skip,
                                               .run = p.slice.run,
                                               .stride = p.slice.stride});
          training_.context().ops.copy(moment->view().slice(part.first, shape), drawn);
        }
      }
    }
  }

  std::vector<std::vector<float>> values() {
    std::vector<std::vector<float>> out;
    for (const auto& unit : training_.trainer().parameters().units()) {
      for (const auto* state : {&unit.weight, &unit.bf16_weight, &unit.first_moment, &unit.second_moment}) {
        if (!state->defined()) continue;
        const TensorView bits{state->view().data, DType::f32, Shape{state->view().bytes() / 4}};
        out.push_back(to_host(bits));
      }
    }
    return out;
  }
  TrainingRun& training() { return training_; }

 private:
  TrainingRun training_;
};

// The same model on another mesh, if the model allows it.
spec::RunSpec on_another_mesh(spec::RunSpec run, std::uint64_t seed) {
  Draws draws(seed + 77);
  for (int attempt = 0; attempt < 200; ++attempt) {
    auto other = run;
    other.mesh = random_mesh(draws, draws.number(1, 6), run.model.moe.n_experts > 0);
    other.pipeline_chunks = 1;
    other.expert_buffer_factor = spec::RunSpec().expert_buffer_factor;
    other.grad_accum = 1;
    other.global_batch = other.mesh.data_shards();
    try {
      spec::validate(other);
      return other;
    } catch (const spec::SpecError&) {
    }
  }
  return run;
}

// Saved by all ranks, as after three steps. Rank 0 tidies the folder before any other writes, and then waits for all.
void save(const spec::RunSpec& run, std::uint64_t seed, const std::filesystem::path& folder) {
  Rank first(run, 0, seed);
  auto* const of_first = first.training().trainer().saver();
  of_first->open(folder, 0);
  for (std::int64_t rank = 1; rank < run.mesh.devices(); ++rank) {
    Rank other(run, rank, seed);
    auto* const saver = other.training().trainer().saver();
    saver->open(folder, 0);
    saver->after_steps(3);
  }
  of_first->after_steps(3);
}

TEST(CheckpointsOfMeshes, AnyMeshReadsWhatAnotherWrote) {
  std::int64_t changed = 0;
  for (std::uint64_t seed = 0; seed < kRandomRuns; ++seed) {
    ScratchFolder scratch;
    auto run = random_run(seed, std::array<std::int64_t, 5>{1, 2, 3, 4, 6}[seed % 5], spec::Device::cpu);
    run.checkpoint = {.every_steps = 1, .asynchronous = false};
    save(run, seed, scratch.path());
    auto other = on_another_mesh(run, seed);
    // f32 moments are rounded when they are read; the draws are rounded in the same way here.
    if (seed % 2 == 0) other.optimizer.moments = spec::StateType::bf16;
    other.checkpoint = {.restore = scratch.path().string()};
    changed += spec::canonical_json(other.model) == spec::canonical_json(run.model) &&
                       other.mesh.devices() != run.mesh.devices()
                   ? 1
                   : 0;
    for (std::int64_t rank = 0; rank < other.mesh.devices(); ++rank) {
      Rank restored(other, rank, seed + 1);
      auto& training = restored.training();
      ASSERT_EQ(restore_checkpoint(training.context(), training.run(), training.trainer().parameters(),
                                   training.trainer().fp8()),
                3);
      const auto found = restored.values();
      const auto expected = Rank(other, rank, seed).values();
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_TRUE(same_bits(found[i], expected[i]))
            << "rank " << rank << ", tensor " << i << "\nsaved:    " << spec::canonical_json(run)
            << "\nrestored: " << spec::canonical_json(other);
      }
    }
  }
  EXPECT_GT(changed, 30);
}

}  // namespace
}  // namespace perfbench::engine
