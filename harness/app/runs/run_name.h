// The folder that a person means who names a recorded run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/store/database.h"
#include "harness/store/queries/query.h"

namespace perfbench::harness {

// The folder of an attempt as it is; of a run (RUNS/<run>) its newest complete attempt. Throws InputError, as
// `command`, when there is none.
std::filesystem::path attempt_folder(const std::filesystem::path& named, const std::string& command);

// How a person names one run: the same for every command that is about one.
//
//   run:ID, or ID             the first 6 to 64 digits of a run's id
//   attempt:ID/N, or ID/N     its attempt N
//   a sweep's id              of a sweep of one run alone: the attempts of that sweep
//   latest                    the newest attempt of the newest sweep (SweepsOf::measurement). A database without such
//                             a sweep has the newest attempt without an injected fault.
//   a tag                     perfbench tag
//   each of these with @SUBJECT behind it (harness/store/queries/query.h): its attempts of that subject
//   a folder                  of a run directory, or of a run: its newest complete attempt; looked for before tags and
//                             sweeps, and before an id without a prefix
// For the help of commands.
inline constexpr const char* kRunNameHelp =
    "6 or more digits of a run's id, ID/N for its attempt N, a tag, a sweep of one run, latest, or a folder; behind "
    "them @SUBJECT for the attempts of one commit, engine, side or fault";
inline constexpr const char* kRunNameType = "RUN or FOLDER";

enum class NameMeans { run, attempt };

struct NamedRun {
  NameMeans means = NameMeans::run;
  std::string run_id;                   // whole
  std::vector<StoredAttempt> attempts;  // that the name covers, in the order in which they were started; never empty
  std::string left_out = {};            // left_out_text() of the attempts of the run that are not among them

  // Of one attempt; nothing of a run.
  std::optional<std::int64_t> attempt_key() const;
  // "run 3f09ac12d4e5 (model=gpt-mini)", "attempt 2 of run ...".
  std::string text() const;
};

// Throws InputError, as `command`, for a name that means nothing or several things: the message lists the nearest runs
// by id, cell and date. Rows that cannot be read are left out (Connection::left_out).
NamedRun find_run(const Connection& db, const std::string& name, const std::string& command);

struct RunPlaces {
  std::filesystem::path db;         // empty: names are not looked for
  std::filesystem::path runs = {};  // of the database's run directories; empty: beside it
};

// Of an attempt of the run, the newest whose folder is there; nothing where none is.
std::optional<std::filesystem::path> folder_of_run(const Connection& db, const NamedRun& named,
                                                   const std::filesystem::path& runs);

// The folder of the attempt that is named, a run by its newest attempt whose folder is there; folders need no database.
// Throws InputError as find_run, and where no folder in `places` is of that very attempt.
std::filesystem::path find_run_folder(const RunPlaces& places, const std::string& name, const std::string& command);

}  // namespace perfbench::harness
