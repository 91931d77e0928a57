#include "harness/app/night/earlier_code.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "harness/evidence/environment_rows.h"
#include "harness/evidence/run_directory.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

using Facts = std::map<std::string, std::string>;

EarlierCode without_pairs(Confirmation confirmation, std::string why) {
  return {.side = {}, .no_pair = {confirmation, std::move(why)}};
}

const NightPoint* find_night(const Screened& screened, const std::string& cell, const std::string& sweep_id) {
  const auto nights = screened.earlier.find(cell);
  if (nights == screened.earlier.end()) return nullptr;
  const auto found = std::find_if(nights->second.begin(), nights->second.end(),
                                  [&](const NightPoint& point) { return point.night.sweep_id == sweep_id; });
  return found == nights->second.end() ? nullptr : &*found;
}

// The facts that identified a training program when it ran (ProgramSpec::facts). Empty: neither a commit nor a file is
// known, so that equal facts prove nothing.
Facts version_of(const Facts& facts) {
  Facts out;
  bool has_source = false;
  for (const auto& [name, value] : facts) {
    if (!name.starts_with(kLibraryFacts)) continue;
    const auto fact = name.substr(kLibraryFacts.size());
    has_source = has_source || fact == spec::kCommitFact || fact.starts_with(spec::kFileFacts);
    out.emplace(fact, value);
  }
  return has_source ? out : Facts();
}

// Empty for a version with uncommitted changes, or without a repository.
std::string clean_commit(const Facts& version) {
  const auto commit = version.find(spec::kCommitFact);
  return commit == version.end() || version.contains(spec::kChangesFact) ? std::string() : commit->second;
}

// Names the facts that differ between two versions of one commit: "torch 2.4.0 to 2.5.1, packages". Omits digests.
std::string changed_beside_commit(const Facts& earlier, const Facts& now) {
  std::string out;
  const auto add = [&out](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  auto names = earlier;
  names.insert(now.begin(), now.end());
  for (const auto& [name, value] : names) {
    const auto before = earlier.find(name);
    const auto after = now.find(name);
    if (before != earlier.end() && after != now.end() && before->second == after->second) continue;
    const bool is_file = name.starts_with(spec::kFileFacts);
    const auto shown = is_file ? name.substr(std::string_view(spec::kFileFacts).size()) : name;
    if (before == earlier.end() || after == now.end()) {
      add(shown + " (not always recorded)");
    } else if (is_file || name == spec::kPackagesFact) {
      add(shown);
    } else {
      add(name + " " + before->second + " to " + after->second);
    }
  }
  return out;
}

}  // namespace

bool same_file(const fs::path& a, const fs::path& b) {
  const auto bytes = read_file(a);
  return bytes && bytes == read_file(b);
}

EarlierCode EarlierCodes::of(const std::string& cell, const NightId& then, const std::string& name) {
  return measured_.runs_program ? revision(cell, then, name) : engine(cell, then, name);
}

EarlierCode EarlierCodes::engine(const std::string& cell, const NightId& then, const std::string& name) const {
  const auto kept = night_.archive.of_night(then.sweep_id);
  const auto& tonight = measured_.engine_of(cell);
  if (!kept) {
    return without_pairs(Confirmation::unconfirmed,
                         "the engine of " + name + ", " + then.sweep_id + ", is not in the archive");
  }
  if (tonight.engine_arguments == measured_.engine.engine_arguments &&
      same_file(kept->program.file, tonight.engine.file) &&
      (kept->program.libraries.empty() || kept->program.libraries == measured_.libraries)) {
    return without_pairs(Confirmation::refuted,
                         "the engine of " + name + " is tonight's, bit for bit: the code did not change");
  }
  if (!kept->problem.empty()) {
    auto out = without_pairs(Confirmation::unconfirmed, kept->problem);
    out.should_have_run = true;
    return out;
  }
  return {.side = AbSide{.kind = SideKind::binary, .engine = kept->program}};
}

EarlierCode EarlierCodes::revision(const std::string& cell, const NightId& then, const std::string& name) {
  const auto* const point = find_night(screened_, cell, then.sweep_id);
  const auto tonight = screened_.facts.find(cell);
  const auto now = tonight == screened_.facts.end() ? Facts() : version_of(*tonight->second);
  if (point == nullptr || now.empty()) {
    return without_pairs(Confirmation::unconfirmed,
                         "the version of the program is unknown: name its git repository with 'repo: {path: FOLDER}', "
                         "or with --program-repo");
  }
  const auto earlier = version_of(*point->facts);
  const bool has_commit = earlier.contains(spec::kCommitFact);
  if (earlier == now && !has_commit) {
    return without_pairs(Confirmation::unconfirmed,
                         "the files that the command names did not change since " + name +
                             ", but only a repository tells whether others did: add 'repo: {path: FOLDER}'");
  }
  const bool is_known =
      std::none_of(earlier.begin(), earlier.end(), [](const auto& fact) { return fact.second == spec::kUnknownFact; });
  if (earlier == now && is_known) {
    return without_pairs(
        Confirmation::refuted,
        "the program of " + name + " is tonight's, by its commit, its files and its packages: it did not change");
  }
  const auto commit = clean_commit(earlier);
  if (commit.empty()) {
    return without_pairs(Confirmation::unconfirmed, "the program of " + name +
                                                        " cannot be run again: it was not a commit of a repository "
                                                        "without other changes");
  }
  if (commit == clean_commit(now)) {
    return without_pairs(Confirmation::unconfirmed, "its commit is the same, but these changed since " + name + ": " +
                                                        changed_beside_commit(earlier, now));
  }
  try {
    EarlierCode out{.side = revision_side(commit)};
    if (const auto tonight_commit = clean_commit(now); !tonight_commit.empty()) {
      out.tonight = revision_side(tonight_commit);
    }
    return out;
  } catch (const InputError& e) {
    return without_pairs(Confirmation::unconfirmed, e.what());
  }
}

AbSide EarlierCodes::revision_side(const std::string& commit) {
  const auto known = revision_sides_.find(commit);
  if (known != revision_sides_.end()) return known->second;
  if (!source_) source_ = revision_source(night_.options.ab, night_.installation);
  auto side = named_revision(source_->history.commit(commit), *source_, night_.installation);
  return revision_sides_.emplace(commit, std::move(side)).first->second;
}

std::vector<std::pair<std::string, NightId>> EarlierCodes::revisions() const {
  std::map<std::string, std::pair<std::string, NightId>> of_commit;
  for (const auto& [cell, nights] : screened_.earlier) {
    for (const auto& point : nights) {
      const auto commit = clean_commit(version_of(*point.facts));
      if (commit.empty()) continue;
      const auto [known, is_new] = of_commit.try_emplace(commit, cell, point.night);
      if (!is_new && point.night.started_utc < known->second.second.started_utc) known->second = {cell, point.night};
    }
  }
  std::vector<std::pair<std::string, NightId>> out;
  for (const auto& [commit, night] : of_commit) out.push_back(night);
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.second.started_utc < b.second.started_utc; });
  return out;
}

}  // namespace perfbench::harness
