// Cells against a row of a published table.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/cell_mfu.h"
#include "harness/judge/comparability.h"
#include "harness/judge/compare.h"
#include "harness/matrix/published.h"

namespace perfbench::harness {

// Every reason why a cell cannot be held against the row: device, precision, model, sequence length, devices, batch,
// task, and a row that contradicts itself. What the row does not state is no obstacle.
std::vector<Obstacle> obstacles(const CellRuns& cell, const PublishedEntry& entry, const HardwareByName& hardware);

// How the row does its work otherwise than the run, which is no obstacle: "remat full vs minimal_flash"; and at the end
// what the row does not say. Attention, remat, scan and mesh.
std::vector<std::string> differences(const spec::RunSpec& run, const spec::PublishedRow& row);

// `metric` is step_time_s, sequences_per_s or tokens_per_s_per_device; throws InputError for another. The differences
// are among the notes, and the MFU of both sides, recomputed under `definition`; it is never the figure that its
// authors state.
struct PublishedComparison {
  const PublishedEntry& entry;
  const HardwareByName& hardware;  // of the names that the cells use
  std::string metric;
  spec::FlopDefinition definition = spec::FlopDefinition::causal;
};
std::vector<CellComparison> compare_with_published(const std::vector<CellRuns>& current,
                                                   const PublishedComparison& comparison);

}  // namespace perfbench::harness
