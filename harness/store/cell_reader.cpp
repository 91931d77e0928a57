#include "harness/store/cell_reader.h"

#include <cstddef>

namespace perfbench::harness {
namespace {

constexpr std::size_t kMostKnown = 4096;  // a few MB

}  // namespace

CellReader::CellReader(const Connection& db)
    : cell_(db, "SELECT run_key, run_id, matrix, label FROM cells JOIN runs USING (run_key) WHERE cell_key = ?"),
      axes_(db, "SELECT axis, value FROM cell_axes WHERE cell_key = ?") {}

const StoredCell& CellReader::of(std::int64_t cell_key) {
  const auto known = known_.find(cell_key);
  if (known != known_.end()) return known->second;
  if (known_.size() == kMostKnown) known_.clear();
  auto& cell = known_[cell_key];
  if (cell_.with(cell_key).step()) {
    cell = {.run_key = cell_.integer(0),
            .run_id = cell_.text(1),
            .matrix = cell_.text(2),
            .label = cell_.text(3),
            .axes = {}};
  }
  axes_.with(cell_key);
  while (axes_.step()) cell.axes[axes_.text(0)] = axes_.text(1);
  return cell;
}

}  // namespace perfbench::harness
