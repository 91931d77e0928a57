#include "harness/store/run_narrowing.h"

#include <utility>

#include "harness/store/cell_reader.h"
#include "harness/store/environment_reader.h"

namespace perfbench::harness {
namespace {

using Keys = std::set<std::int64_t>;

// Of so many an index finds the attempts; more are nearly all, or are many rows, of which no more are wanted soon.
constexpr std::size_t kFewCells = 64;

Keys keys_of(Statement& rows) {
  Keys out;
  while (rows.step()) out.insert(rows.integer(0));
  return out;
}

std::optional<std::vector<std::int64_t>> few_cells(const Connection& db, const RunFilter& wanted) {
  if (!wanted.cell && !wanted.untagged) return std::nullopt;
  std::optional<Keys> tagged;
  if (wanted.untagged && !wanted.untagged({})) {
    Statement rows(db, "SELECT cell_key FROM cells WHERE run_key IN (SELECT run_key FROM tags)");
    tagged = keys_of(rows);
  }
  if (!wanted.cell && !tagged) return std::nullopt;
  CellReader reader(db);
  Statement cells(db, "SELECT cell_key FROM cells");
  std::vector<std::int64_t> out;
  while (cells.step()) {
    const auto key = cells.integer(0);
    if (tagged && !tagged->contains(key)) continue;
    if (wanted.cell) {
      const auto& cell = reader.of(key);
      if (!wanted.cell({.run_id = cell.run_id, .matrix = cell.matrix, .cell = cell.label, .axes = cell.axes})) continue;
    }
    if (out.size() == kFewCells) return std::nullopt;
    out.push_back(key);
  }
  return out;
}

// Nothing where all environments are wanted.
std::optional<Keys> sweeps_of_environments(const Connection& db, const RunFilter::MayBe& wanted) {
  EnvironmentReader reader(db);
  std::vector<std::optional<std::int64_t>> keys;
  bool all = wanted({});
  if (all) keys.emplace_back();  // of attempts without one
  Statement environments(db, "SELECT environment_key FROM environments");
  while (environments.step()) {
    const auto key = environments.integer(0);
    const auto& environment = *reader.of(key);
    const bool is_wanted = wanted({.git_commit = environment.git_commit(), .machine = environment.machine_fingerprint});
    all = all && is_wanted;
    if (is_wanted) keys.emplace_back(key);
  }
  if (all) return std::nullopt;
  Statement sweeps(db, "SELECT DISTINCT sweep_key FROM attempts WHERE environment_key IS ?");
  Keys out;
  for (const auto& key : keys) out.merge(keys_of(sweeps.with(key)));
  return out;
}

Keys sweeps_of_cells(const Connection& db, const std::vector<std::int64_t>& cells) {
  Statement sweeps(db, "SELECT sweep_key FROM attempts WHERE cell_key = ?");
  Keys out;
  for (const auto cell : cells) out.merge(keys_of(sweeps.with(cell)));
  return out;
}

void narrow(std::optional<Keys>& all, Keys to) {
  if (all) std::erase_if(to, [&](std::int64_t key) { return !all->contains(key); });
  all = std::move(to);
}

}  // namespace

RunNarrowing places_of(const Connection& db, const RunFilter& wanted) {
  RunNarrowing out{.cells = few_cells(db, wanted), .sweeps = {}};
  if (out.cells) out.sweeps = sweeps_of_cells(db, *out.cells);
  if (wanted.environment) {
    if (auto sweeps = sweeps_of_environments(db, wanted.environment)) narrow(out.sweeps, std::move(*sweeps));
  }
  if (wanted.all_ok && !wanted.all_ok({.attempts = 1, .finished = 1})) {
    Statement sweeps(db, "SELECT DISTINCT sweep_key FROM attempts WHERE state <> 'ok'");
    narrow(out.sweeps, keys_of(sweeps));
  }
  return out;
}

}  // namespace perfbench::harness
