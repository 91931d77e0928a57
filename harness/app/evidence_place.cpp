#include "harness/app/evidence_place.h"

#include "harness/evidence/run_directory.h"
#include "harness/evidence/run_evidence.h"
#include "harness/input_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

bool is_of(const fs::path& folder, const std::string& record_sha256) {
  try {
    const auto record = read_attempt(folder);
    return record && record_digest(*record) == record_sha256;
  } catch (const InputError&) {
    return false;  // damaged since: whose it is nobody knows
  }
}

}  // namespace

std::optional<fs::path> evidence_place(const Connection& db, std::int64_t attempt_key, const fs::path& runs) {
  Statement row(db,
                "SELECT run_id, attempt, record_sha256 FROM attempts JOIN runs USING (run_key) WHERE attempt_key = ?");
  if (!row.with(attempt_key).step()) return std::nullopt;
  for (const auto& [folder, number] : list_attempts(runs, row.text(0))) {
    if (number == row.integer(1) && is_of(folder, row.text(2))) return folder;
  }
  return std::nullopt;
}

}  // namespace perfbench::harness
