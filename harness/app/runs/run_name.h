// Finds the folder of a recorded run that the user named.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/store/database.h"
#include "harness/store/queries/query.h"

namespace perfbench::harness {

// Returns the folder of an attempt as it is, and for the folder of a run (RUNS/<run>) its newest complete attempt.
// Throws InputError, as `command`, if there is none.
std::filesystem::path attempt_folder(const std::filesystem::path& named, const std::string& command);

// The names of a run, the same for every command about a single run.
//
//   run:ID, or ID          the first 6 to 64 digits of a run's id
//   attempt:ID/N, or ID/N  its attempt N
//   a sweep's id           for a sweep of a single run: the attempts of that sweep
//   latest                 the newest attempt of the newest sweep (SweepsOf::measurement)
//   a tag                  perfbench tag
//   a folder               of a run directory, or of a run: its newest complete attempt
//
// If a database has no sweep of that kind, `latest` is the newest attempt without an injected fault. A folder is looked
// up before tags and sweeps, and before an id without a prefix. After each of these, @SUBJECT
// (harness/store/queries/query.h) selects the attempts of that subject.

// For the help of commands.
inline constexpr const char* kRunNameHelp =
    "6 or more digits of a run's id, ID/N for its attempt N, a tag, a sweep of one run, latest, or a folder; add "
    "@SUBJECT for the attempts of one commit, engine, side or fault";
inline constexpr const char* kRunNameType = "RUN or FOLDER";

enum class NameMeans { run, attempt };

struct NamedRun {
  NameMeans means = NameMeans::run;
  std::string run_id;                   // complete
  std::vector<StoredAttempt> attempts;  // covered by the name, in the order of their start; never empty
  std::string left_out = {};            // left_out_text() of the attempts of the run that the name does not cover

  // The key if the name covers one attempt; nullopt for a run.
  std::optional<std::int64_t> attempt_key() const;
  // "run 3f09ac12d4e5 (model=gpt-mini)", "attempt 2 of run ...".
  std::string text() const;
};

// Throws InputError, as `command`, for a name that is unknown or ambiguous: the message lists the closest runs by id,
// cell and date. Rows that cannot be read are left out (Connection::left_out).
NamedRun find_run(const Connection& db, const std::string& name, const std::string& command);

struct RunPlaces {
  std::filesystem::path db;         // empty: names are not looked up
  std::filesystem::path runs = {};  // the database's run directories; empty: beside it
};

// The folder of an attempt of the run: the newest one that exists; nullopt if none does.
std::optional<std::filesystem::path> folder_of_run(const Connection& db, const NamedRun& named,
                                                   const std::filesystem::path& runs);

// The folder of the named attempt or, for a run, of its newest attempt whose folder exists; folders need no database.
// Throws InputError as find_run, and if no folder in `places` has exactly that attempt.
std::filesystem::path find_run_folder(const RunPlaces& places, const std::string& name, const std::string& command);

}  // namespace perfbench::harness
