// Compares cells with a row of a published table.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/cell_mfu.h"
#include "harness/judge/comparability.h"
#include "harness/judge/compare.h"
#include "harness/matrix/published.h"

namespace perfbench::harness {

// All reasons against a comparison of the cell with the row: device, precision, model, sequence length, devices, batch,
// task, and a row that contradicts itself. Facts that the row does not state are not obstacles.
std::vector<Obstacle> obstacles(const CellRuns& cell, const PublishedEntry& entry, const HardwareByName& hardware);

// Differences in how the row and the run do their work, which are not obstacles: "remat full vs minimal_flash". The
// last entry lists facts that the row does not state. Covers attention, remat, scan and mesh.
std::vector<std::string> differences(const spec::RunSpec& run, const spec::PublishedRow& row);

// `metric` is step_time_s, sequences_per_s or tokens_per_s_per_device; throws InputError for another one. The notes
// contain the differences and the MFU of both sides, recomputed under `definition`; they never show the figure that the
// row's authors state.
struct PublishedComparison {
  const PublishedEntry& entry;
  const HardwareByName& hardware;  // with the names that the cells use
  std::string metric;
  spec::FlopDefinition definition = spec::FlopDefinition::causal;
};
std::vector<CellComparison> compare_with_published(const std::vector<CellRuns>& current,
                                                   const PublishedComparison& comparison);

}  // namespace perfbench::harness
