// Reads attempts from the store, for comparisons and reports.
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

// Selects attempts: "latest" (the newest sweep of a matrix: SweepsOf::measurement), "all", "run:<start of a run id>",
// "attempt:<start of a run id>/<number>", or the id of a sweep. Each may be followed by "@<subject>", which selects the
// attempts of the named_subjects() (subject.h): "all@a1b2c3d4", "run:3f09ac12@inject".
enum class SelectionKind { latest_sweep, all, run, attempt, sweep };
struct Selection {
  SelectionKind kind = SelectionKind::latest_sweep;
  std::string id;            // of the sweep, or the start of the run's
  std::int64_t attempt = 0;  // for kind attempt
  std::string subject = {};  // the text after the @; empty: all subjects
};
// Throws InputError for a run id that is not 6 to 64 hex digits, or an attempt that is not a number.
Selection parse_selection(const std::string& text);

// The newest sweep of a matrix (by its name) that can be resumed (SweepsOf::resumption).
std::optional<std::string> newest_sweep(const Connection& db, const std::string& matrix);

// The newest sweep of each matrix (SweepsOf::measurement), the newest of all first.
struct MatrixSweep {
  std::string matrix;
  std::string sweep_id;
};
std::vector<MatrixSweep> newest_sweeps(const Connection& db);

bool has_any_sweep(const Connection& db);
bool has_sweep_of(const Connection& db, SweepKind kind);

// Whether --only selected the cells of that sweep.
bool is_of_a_part(const Connection& db, const std::string& sweep_id);

// The settings with which a sweep was made, according to its attempts.
struct SweepSettings {
  std::vector<std::string> engines;  // AttemptRecord::engine_sha256 where it is recorded, without duplicates
  std::int64_t repeats = 0;          // AttemptRecord::repeats
};
SweepSettings sweep_settings(const Connection& db, const std::string& sweep_id);

// Number of attempts of a run (by its whole id) in a sweep that ended in this state; 0 if the database does not know
// them.
std::int64_t count_attempts(const Connection& db, const std::string& sweep_id, const std::string& run_id,
                            AttemptState state);

// In the order of their start, without those that cannot be read (Connection::left_out). Throws InputError if a named
// sweep, run, attempt or subject does not exist, or the start of a run id matches several runs.
std::vector<StoredAttempt> load_attempts(const Connection& db, const Selection& selection);
std::vector<StoredAttempt> load_attempts(const Connection& db, const std::vector<std::int64_t>& keys);

// The attempts for a table, a median or a baseline. A run with an injected fault is included only on request: by its
// subject, its attempt or its sweep, or if the named run has no other attempts.
struct ChosenAttempts {
  std::vector<StoredAttempt> attempts;
  std::vector<StoredAttempt> faulty;  // attempts that were left out
};
ChosenAttempts choose_attempts(const Connection& db, const Selection& selection);

// The job that executed an attempt, and the machine that pushed it here: "slurm 17 on n1, pushed by node7". Empty for
// an attempt of a command on this machine.
std::string origin_of_attempt(const Connection& db, std::int64_t key);

// "8 attempts with an injected fault are left out: 20260131T120000Z-3f09ac12d4@inject names them". Empty if there are
// none.
std::string left_out_text(const std::vector<StoredAttempt>& faulty);

// The attempts that belong to the named_subjects(). Throws InputError with the available names.
std::vector<StoredAttempt> of_subject(std::vector<StoredAttempt> attempts, const std::string& subject,
                                      const std::string& asked);

}  // namespace perfbench::harness
