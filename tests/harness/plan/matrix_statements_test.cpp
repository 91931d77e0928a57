// Compares the statements about memory in the comments of matrices with the engine's own count.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/yaml_document.h"
#include "harness/plan/explanation.h"
#include "harness/plan/planner.h"

namespace perfbench::harness {
namespace {

const std::filesystem::path kMatrices = PERFBENCH_SOURCE_DIR "/matrices";

// The comment at the top of a matrix, as one line.
std::string comment_of(const std::filesystem::path& matrix) {
  std::ifstream file(matrix);
  std::string comment;
  for (std::string line; std::getline(file, line) && line.starts_with("#");) comment += line.substr(1);
  return comment;
}

std::vector<PlannedCell> plan_of(const std::filesystem::path& matrix, const Overrides& overrides = {}) {
  const ModelCatalog catalog(PERFBENCH_SOURCE_DIR);
  auto cells = expand(YamlDocument::load(matrix, "matrix"), catalog, overrides).cells;
  return plan_cells(std::move(cells), {.engine = {PERFBENCH_ENGINE_FILE}, .catalog = &catalog});
}

TEST(MatrixStatements, WhereLlamasLargestModelFits) {
  const auto llama = kMatrices / "llama.yaml";
  std::map<std::pair<std::int64_t, std::int64_t>, PlanState> by_gpus_and_prefetch;
  std::set<std::int64_t> gpus_of_pipelines;
  for (const auto& planned : plan_of(llama, {.only = {"model=*405b"}, .set = {}})) {
    const auto& run = planned.cell.run;
    if (run.mesh.pp() > 1) {
      EXPECT_EQ(planned.state, PlanState::feasible) << planned.reason;
      EXPECT_EQ(planned.counts->stages.size(), static_cast<std::size_t>(run.mesh.pp()));
      gpus_of_pipelines.insert(run.mesh.devices());
      continue;
    }
    by_gpus_and_prefetch[{run.mesh.devices(), run.fsdp_prefetch}] = planned.state;
  }
  const std::map<std::pair<std::int64_t, std::int64_t>, PlanState> said{{{256, 0}, PlanState::infeasible},
                                                                        {{256, 1}, PlanState::infeasible},
                                                                        {{512, 0}, PlanState::feasible},
                                                                        {{512, 1}, PlanState::infeasible}};
  EXPECT_EQ(by_gpus_and_prefetch, said);
  EXPECT_THAT(comment_of(llama),
              testing::HasSubstr("405B fits 512 GPUs without overlap (fsdp_prefetch 0). It does not fit them with "
                                 "overlap, nor 256 GPUs either way. It fits 512 and 1024 GPUs with stages of a "
                                 "pipeline across nodes."));
  EXPECT_EQ(gpus_of_pipelines, (std::set<std::int64_t>{512, 1024}));
}

// The matrix says what to change for 512 GPUs; an explanation finds the same for the cell that does not fit them.
TEST(MatrixStatements, LlamasLargestModelFitsWithoutOverlap) {
  const ModelCatalog catalog(PERFBENCH_SOURCE_DIR);
  const auto cells =
      expand(YamlDocument::load(kMatrices / "llama.yaml", "matrix"), catalog, {.only = {"model=*405b"}, .set = {}})
          .cells;
  const auto cell = std::ranges::find_if(cells, [](const Cell& candidate) {
    const auto& run = candidate.run;
    return run.mesh.devices() == 512 && run.mesh.pp() == 1 && run.fsdp_prefetch == 1;
  });
  ASSERT_NE(cell, cells.end());
  const auto explanation = explain_cell(*cell, {.engine = {PERFBENCH_ENGINE_FILE}, .catalog = &catalog});
  EXPECT_EQ(explanation.cell.state, PlanState::infeasible);
  std::int64_t at_peak = 0;
  for (const auto& group : explanation.cell.counts->largest) at_peak += group.bytes;
  EXPECT_EQ(at_peak, explanation.cell.counts->peak.total_bytes);
  std::vector<std::string> changes;
  for (const auto& alternative : explanation.alternatives) {
    EXPECT_LE(alternative.planned.memory_needed_bytes, alternative.planned.memory_available_bytes);
    changes.push_back(alternative.planned.cell.label);
  }
  EXPECT_THAT(changes, testing::Contains("fsdp_prefetch=0"));
}

TEST(MatrixStatements, WhereAdaptersFitAndAllWeightsDoNot) {
  const auto matrix = kMatrices / "pax_llama_finetune.yaml";
  EXPECT_THAT(comment_of(matrix), testing::HasSubstr("70B fits them with adapters, and not with all of its weights."));
  int cells = 0;
  for (const auto& planned : plan_of(matrix, {.only = {"device=cuda"}, .set = {}})) {
    const auto& run = planned.cell.run;
    const bool fits = run.model.name != "pax-llama2-70b" || run.task != spec::Task::sft;
    EXPECT_EQ(planned.state, fits ? PlanState::feasible : PlanState::infeasible)
        << planned.cell.label << ": " << planned.reason;
    ++cells;
  }
  EXPECT_EQ(cells, 10);
}

TEST(MatrixStatements, MatricesForOneGpuFitOne) {
  const auto gpu = kMatrices / "gpu.yaml";
  EXPECT_THAT(comment_of(gpu), testing::HasSubstr("One H100 or H200: the models that fit, and slices"));
  for (const auto& planned : plan_of(gpu)) {
    EXPECT_EQ(planned.state, PlanState::feasible) << planned.cell.label << ": " << planned.reason;
    EXPECT_EQ(planned.cell.run.mesh.devices(), 1);
  }
}

}  // namespace
}  // namespace perfbench::harness
