#include "harness/app/runs/run_name.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "harness/app/execution.h"
#include "harness/evidence/run_directory.h"
#include "harness/evidence/run_evidence.h"
#include "harness/store/attempts/evidence_place.h"
#include "harness/store/columns.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/tag_ledger.h"
#include "harness/store/queries/names.h"
#include "harness/store/queries/sweeps.h"
#include "harness/system/input_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace fs = std::filesystem;

fs::path attempt_folder(const fs::path& named, const std::string& command) {
  const auto folder = fs::absolute(named).lexically_normal();
  std::error_code none;
  if (fs::is_regular_file(folder / kAttemptFile, none)) return folder;
  auto attempts = list_attempts(folder.parent_path(), folder.filename().string());
  std::erase_if(attempts,
                [&none](const auto& attempt) { return !fs::is_regular_file(attempt.path / kAttemptFile, none); });
  if (attempts.empty()) {
    throw InputError(fmt::format(
        "[{}] {}: it contains no {}: name the folder of an attempt (RUNS/<run>/001) or of a run (RUNS/<run>)", command,
        named.string(), kAttemptFile));
  }
  return attempts.back().path;
}

namespace {

constexpr std::size_t kListed = 5;
constexpr std::size_t kShownDigits = 12;

// A run to list if a name is unknown or ambiguous.
struct Candidate {
  std::string run_id;
  std::string text;                     // "3f09ac12d4e5 (model=gpt-mini, 2026-01-31T12:00:00Z)"
  std::string started_utc;              // start of its newest attempt
  std::vector<std::string> names = {};  // the names that could mean it
};

Candidate candidate(const std::string& run_id, const std::string& cell, const std::string& started_utc) {
  return {
      .run_id = run_id,
      .text = fmt::format("{} ({}, {})", run_id.substr(0, kShownDigits), cell.empty() ? "no cell" : cell, started_utc),
      .started_utc = started_utc};
}

std::vector<Candidate> candidates_of(const std::vector<NamedCandidate>& runs) {
  std::vector<Candidate> out;
  for (const auto& run : runs) out.push_back(candidate(run.run_id, run.cell, run.started_utc));
  return out;
}

std::size_t common_start(const std::string& a, const std::string& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

std::string listed(std::vector<Candidate> candidates) {
  const auto count = candidates.size();
  candidates.resize(std::min(count, kListed));
  std::string out;
  for (const auto& one : candidates) out += (out.empty() ? "" : ", ") + one.text;
  return count > kListed ? fmt::format("{} and {} more", out, count - kListed) : out;
}

// The runs whose ids share the longest prefix with the name, the newest ones first.
std::string nearest_runs(const Connection& db, const std::string& name) {
  auto runs = candidates_of(all_runs(db));
  if (runs.empty()) return "it has no runs; fill it with `perfbench sweep` or `perfbench ingest`";
  const auto likeness = [&](const Candidate& one) {
    return std::pair(
        std::max(common_start(name, one.run_id), one.text.find(name) != std::string::npos ? name.size() : 0),
        one.started_utc);
  };
  std::stable_sort(runs.begin(), runs.end(),
                   [&](const Candidate& a, const Candidate& b) { return likeness(a) > likeness(b); });
  if (runs.size() > kListed) runs.resize(kListed);
  return "the closest runs: " + listed(std::move(runs));
}

// A folder with an attempt in it; false for a name that is not a path.
bool is_run_folder(const std::string& name) {
  if (path_problem(name, PathIs::folder)) return false;
  std::error_code none;
  const auto folder = fs::absolute(name, none).lexically_normal();
  if (!fs::is_directory(folder, none)) return false;
  if (fs::is_regular_file(folder / kAttemptFile, none)) return true;
  const auto attempts = list_attempts(folder.parent_path(), folder.filename().string());
  return std::any_of(attempts.begin(), attempts.end(), [&none](const AttemptDirectory& one) {
    return fs::is_regular_file(one.path / kAttemptFile, none);
  });
}

class RunFinder {
 public:
  RunFinder(const Connection& db, std::string name, std::string command)
      : db_(db), name_(std::move(name)), command_(std::move(command)) {
    const auto at = name_.rfind('@');
    if (at == std::string::npos || is_run_folder(name_) || has_sweep(db_, name_)) return;
    subject_ = name_.substr(at + 1);
    name_.erase(at);
    if (subject_.empty()) fail("a subject is missing after the @, such as a commit, 'inject' or 'side B'");
  }

  NamedRun find() {
    if (name_.starts_with("run:")) return run_by_start(name_.substr(4));
    if (name_.starts_with("attempt:")) return attempt_by_number(name_.substr(8));
    if (name_ == "latest") return latest();
    if (const auto record = record_in_folder()) return recorded(*record);
    if (is_run_id_start(name_) && !candidates_of(runs_that_begin_with(db_, name_)).empty()) return run_by_start(name_);
    if (is_run_id_start(name_.substr(0, name_.find('/'))) && name_.find('/') != std::string::npos) {
      return attempt_by_number(name_);
    }
    if (const auto tag = find_tag(db_, name_)) return tagged(*tag);
    if (has_sweep(db_, name_)) return of_sweep();
    unknown();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(fmt::format("[{}] '{}': {}", command_, name_, what));
  }

  [[noreturn]] void unknown() const {
    std::vector<std::string> known;
    for (const auto& tag : list_tags(db_)) known.push_back(tag.name);
    for (auto& sweep : newest_sweep_ids(db_, kSweepsLookedAt)) known.push_back(std::move(sweep));
    const auto near = spec::nearest(name_, known);
    fail(
        fmt::format("{} has no run with that name{}; a run is named by 6 or more digits of its id, ID/N, a tag, a "
                    "sweep of one run, 'latest' or its folder; {}",
                    db_.path().string(), near ? " (did you mean '" + *near + "'?)" : "", nearest_runs(db_, name_)));
  }

  std::string whole_id(const std::string& start) const {
    if (!is_run_id_start(start)) fail("a run is named by the first 6 to 64 hex digits of its id");
    auto found = candidates_of(runs_that_begin_with(db_, start));
    if (found.empty())
      fail(fmt::format("{} has no run whose id begins with that; {}", db_.path().string(), nearest_runs(db_, start)));
    if (found.size() > 1) fail("several runs begin with that: " + listed(std::move(found)) + "; give more digits");
    return found.front().run_id;
  }

  // Empty if every row was left out: the command then says why it shows nothing.
  NamedRun checked(NameMeans means, std::vector<StoredAttempt> attempts) const {
    if (attempts.empty()) {
      fail(db_.left_out().empty() ? "it has no attempt" : *db_.left_out().begin() + "; it has no other attempt");
    }
    if (!subject_.empty()) attempts = of_subject(std::move(attempts), subject_, name_);
    auto run_id = attempts.front().run_id;
    return {.means = means, .run_id = std::move(run_id), .attempts = std::move(attempts)};
  }

  NamedRun whole_run(const std::string& run_id) const {
    const Selection selection{.kind = SelectionKind::run, .id = run_id, .subject = subject_};
    auto chosen = choose_attempts(db_, selection);
    auto out = checked(NameMeans::run, std::move(chosen.attempts));
    out.left_out = left_out_text(chosen.faulty);
    return out;
  }

  NamedRun run_by_start(const std::string& start) const { return whole_run(whole_id(start)); }

  NamedRun attempt_by_number(const std::string& text) const {
    const auto slash = text.find('/');
    const auto number = slash == std::string::npos ? std::string() : text.substr(slash + 1);
    std::int64_t wanted = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), wanted);
    if (number.empty() || error != std::errc() || end != number.data() + number.size() || wanted < 1) {
      fail("an attempt is named ID/N: the start of the run id, and a number from 1");
    }
    const auto run_id = whole_id(text.substr(0, slash));
    auto all = load_attempts(db_, {SelectionKind::run, run_id, 0});
    std::vector<StoredAttempt> found;
    std::copy_if(all.begin(), all.end(), std::back_inserter(found),
                 [&](const StoredAttempt& one) { return one.attempt == wanted; });
    if (found.empty() && !all.empty()) {
      fail(fmt::format("run {} has no attempt {}; its newest is {}/{} ({}, {})", run_id.substr(0, kShownDigits), wanted,
                       run_id.substr(0, kShownDigits), all.back().attempt, all.back().cell, all.back().started_utc));
    }
    if (found.size() > 1) fail_ambiguous(found);
    return checked(NameMeans::attempt, std::move(found));
  }

  // Each machine numbers its folders from 1.
  [[noreturn]] void fail_ambiguous(const std::vector<StoredAttempt>& found) const {
    std::string text;
    for (const auto& one : found) {
      text += fmt::format("{}{} of sweep '{}' ({}, {})", text.empty() ? "" : ", ", one.attempt, one.sweep_id, one.cell,
                          one.started_utc);
    }
    fail("several attempts have that number: " + text + "; name the folder of one, or the run");
  }

  NamedRun latest() const {
    auto all = load_attempts(db_, Selection{});
    if (all.empty()) all = choose_attempts(db_, {.kind = SelectionKind::all}).attempts;  // there are only comparisons
    if (!subject_.empty()) all = of_subject(std::move(all), subject_, name_);
    if (all.size() > 1) all.erase(all.begin(), all.end() - 1);
    if (all.empty() && db_.left_out().empty()) fail(nearest_runs(db_, ""));
    return checked(NameMeans::attempt, std::move(all));
  }

  NamedRun tagged(const Tag& tag) const {
    if (!tag.attempt_key) return whole_run(tag.run_id);
    return checked(NameMeans::attempt, load_attempts(db_, std::vector{*tag.attempt_key}));
  }

  NamedRun of_sweep() const {
    auto attempts = load_attempts(db_, {SelectionKind::sweep, name_, 0});
    std::vector<Candidate> runs;
    for (const auto& one : attempts) {
      const bool known =
          std::any_of(runs.begin(), runs.end(), [&](const auto& run) { return run.run_id == one.run_id; });
      if (!known) runs.push_back(candidate(one.run_id, one.cell, one.started_utc));
    }
    if (runs.size() > 1) fail("that sweep has several runs: " + listed(std::move(runs)) + "; name one");
    const auto means = attempts.size() == 1 ? NameMeans::attempt : NameMeans::run;
    return checked(means, std::move(attempts));
  }

  // The record of the attempt in the named folder; nullopt if the name is not a folder.
  std::optional<AttemptRecord> record_in_folder() const {
    if (!is_run_folder(name_)) return std::nullopt;
    return read_attempt(attempt_folder(name_, command_));
  }

  NamedRun recorded(const AttemptRecord& record) const {
    const auto key = find_key(db_,
                              "SELECT attempt_key FROM attempts JOIN runs USING (run_key) WHERE run_id = ? AND "
                              "record_sha256 = ?",
                              record.run_id, record_digest(record));
    if (!key) fail(fmt::format("{} does not have that attempt; `perfbench ingest` adds it", db_.path().string()));
    return checked(NameMeans::attempt, load_attempts(db_, std::vector{*key}));
  }

  const Connection& db_;
  std::string name_;
  std::string command_;
  std::string subject_;  // empty: all subjects
};

}  // namespace

std::optional<std::int64_t> NamedRun::attempt_key() const {
  if (means != NameMeans::attempt) return std::nullopt;
  return attempts.front().key;
}

NamedRun find_run(const Connection& db, const std::string& name, const std::string& command) {
  return RunFinder(db, name, command).find();
}

std::string NamedRun::text() const {
  const auto run = fmt::format("run {} ({})", run_id.substr(0, kShownDigits), attempts.back().cell);
  return means == NameMeans::run ? run : fmt::format("attempt {} of {}", attempts.front().attempt, run);
}

std::optional<fs::path> folder_of_run(const Connection& db, const NamedRun& named, const fs::path& runs) {
  EvidencePlaces evidence(db, runs);
  for (auto attempt = named.attempts.rbegin(); attempt != named.attempts.rend(); ++attempt) {
    if (const auto folder = evidence.of(attempt->key)) return fs::absolute(*folder).lexically_normal();
  }
  return std::nullopt;
}

fs::path find_run_folder(const RunPlaces& places, const std::string& name, const std::string& command) {
  std::error_code none;
  if (is_run_folder(name)) return attempt_folder(name, command);
  if (fs::is_directory(name, none) || !fs::exists(places.db, none)) {
    if (fs::exists(name, none) || places.db.empty()) return attempt_folder(name, command);  // reports what is missing
    throw InputError(fmt::format(
        "[{}] {}: it contains no {}, and the database {}, in which a run of that name would be looked up, does not "
        "exist: name the folder of an attempt (RUNS/<run>/001) or of a run (RUNS/<run>), or give --db",
        command, name, kAttemptFile, places.db.string()));
  }
  const auto db = open_database(places.db, {.mode = OpenMode::read_only});
  const auto named = find_run(db, name, command);
  const auto runs = runs_folder(places.runs, places.db);
  if (auto folder = folder_of_run(db, named, runs)) return *folder;
  throw InputError(
      fmt::format("[{}] '{}' is run {} of {}, whose run directory does not exist any more, or belongs to another "
                  "attempt: expected at {}; name its folder",
                  command, name, named.run_id.substr(0, kShownDigits), places.db.string(),
                  (run_folder(runs, named.run_id) / "NNN").string()));
}

}  // namespace perfbench::harness
