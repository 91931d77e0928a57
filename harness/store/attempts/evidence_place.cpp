#include "harness/store/attempts/evidence_place.h"

#include <algorithm>
#include <utility>

#include "harness/evidence/run_evidence.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

bool is_of(const fs::path& folder, const std::string& record_sha256) {
  try {
    const auto record = read_attempt(folder);
    return record && record_digest(*record) == record_sha256;
  } catch (const InputError&) {
    return false;  // damaged meanwhile: its owner is unknown
  }
}

}  // namespace

EvidencePlaces::EvidencePlaces(const Connection& db, fs::path runs)
    : row_(db, "SELECT run_id, attempt, record_sha256 FROM attempts JOIN runs USING (run_key) WHERE attempt_key = ?"),
      runs_(std::move(runs)) {}

std::optional<fs::path> EvidencePlaces::of(std::int64_t attempt_key) {
  if (!row_.with(attempt_key).step()) return std::nullopt;
  const auto [of_run, is_new] = listed_.try_emplace(row_.text(0));
  auto& folders = of_run->second;
  if (is_new) folders = list_attempts(runs_, of_run->first);
  auto folder = std::ranges::lower_bound(folders, row_.integer(1), {}, &AttemptDirectory::attempt);
  for (; folder != folders.end() && folder->attempt == row_.integer(1); ++folder) {
    if (is_of(folder->path, row_.text(2))) return folder->path;
  }
  return std::nullopt;
}

}  // namespace perfbench::harness
