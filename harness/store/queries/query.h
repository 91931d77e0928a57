// Attempts out of the store, for comparisons and reports.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/evidence/attempt.h"
#include "harness/records/stored_attempt.h"
#include "harness/records/subject.h"
#include "harness/store/attempts/environments.h"
#include "harness/store/sqlite.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::harness {

// 6 to 64 hex digits.
bool is_run_id_start(const std::string& text);

// Which attempts: "latest" (the newest sweep of a matrix: SweepsOf::measurement), "all", "run:<start of a run id>",
// "attempt:<start of a run id>/<number>", or the id of a sweep. Behind each may stand "@<subject>": of these the
// attempts of the named_subjects() (subject.h), "all@a1b2c3d4", "run:3f09ac12@inject".
enum class SelectionKind { latest_sweep, all, run, attempt, sweep };
struct Selection {
  SelectionKind kind = SelectionKind::latest_sweep;
  std::string id;            // of the sweep, or the start of the run's
  std::int64_t attempt = 0;  // of kind attempt
  std::string subject = {};  // what stands behind the @; empty: all subjects
};
// Throws InputError for a run id that is not 6 to 64 hex digits, or an attempt that is not a number.
Selection parse_selection(const std::string& text);

// The newest sweep of a matrix that can be resumed (SweepsOf::resumption), by its name.
std::optional<std::string> newest_sweep(const Connection& db, const std::string& matrix);

// The newest sweep of each matrix (SweepsOf::measurement), the newest of all first.
struct MatrixSweep {
  std::string matrix;
  std::string sweep_id;
};
std::vector<MatrixSweep> newest_sweeps(const Connection& db);

bool has_any_sweep(const Connection& db);
bool has_sweep_of(const Connection& db, SweepKind kind);

// Whether --only chose the cells of that sweep.
bool is_of_a_part(const Connection& db, const std::string& sweep_id);

// With what the attempts of a sweep say that it was made.
struct SweepSettings {
  std::vector<std::string> engines;  // AttemptRecord::engine_sha256 of those that say it, each once
  std::int64_t repeats = 0;          // AttemptRecord::repeats
};
SweepSettings sweep_settings(const Connection& db, const std::string& sweep_id);

// Attempts of a run (by its whole id) in a sweep that ended so; 0 for what the database does not know.
std::int64_t count_attempts(const Connection& db, const std::string& sweep_id, const std::string& run_id,
                            AttemptState state);

// In the order in which they were started, without those that cannot be read (Connection::left_out). Throws InputError
// when a named sweep, run, attempt or subject does not exist, or a run id's start fits several runs.
std::vector<StoredAttempt> load_attempts(const Connection& db, const Selection& selection);
std::vector<StoredAttempt> load_attempts(const Connection& db, const std::vector<std::int64_t>& keys);

// What a table, a median or a baseline is made of. A run with an injected fault is part of it only where it was asked
// for: by its subject, its attempt, its sweep, or because the run that was named has no other attempts.
struct ChosenAttempts {
  std::vector<StoredAttempt> attempts;
  std::vector<StoredAttempt> faulty;  // left out
};
ChosenAttempts choose_attempts(const Connection& db, const Selection& selection);
// "8 attempts with an injected fault are left out: 20260131T120000Z-3f09ac12d4@inject names them". Empty: there are
// none.
std::string left_out_text(const std::vector<StoredAttempt>& faulty);

// The attempts of these that are of the named_subjects(); throws InputError with the names there are.
std::vector<StoredAttempt> of_subject(std::vector<StoredAttempt> attempts, const std::string& subject,
                                      const std::string& asked);

}  // namespace perfbench::harness
