#include "harness/records/subject.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>
#include <vector>

#include "harness/evidence/environment_rows.h"
#include "workloads/spec/program_spec.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kShownDigits = 8;
constexpr std::size_t kFewestDigits = 6;
constexpr std::size_t kListed = 8;

// Facts come from a run directory or from a file of another machine: text that is not a commit is not shown as one.
bool is_commit(const std::string& text) {
  return text.size() >= kShownDigits &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

// A training program whose command names a file, a program of Python, or one in a container.
bool is_program(const Subject& subject) {
  if (!subject.told) return false;
  const auto has = [&](const std::string& prefix) {
    const auto at = subject.told->lower_bound(prefix);
    return at != subject.told->end() && at->first.starts_with(prefix);
  };
  return has(std::string(kLibraryFacts) + spec::kFileFacts) || has(std::string(kLibraryFacts) + spec::kPackagesFact) ||
         has(std::string(kLibraryFacts) + spec::kImageFact);
}

std::string digest_text(const Subject& subject) {
  if (subject.engine_sha256.empty()) return {};
  return (is_program(subject) ? "program " : "engine ") + subject.engine_sha256.substr(0, kShownDigits);
}

std::string commit_text(const Subject& subject) {
  if (!is_commit(subject.git_commit)) return {};
  return subject.git_commit.substr(0, kShownDigits) + (subject.git_dirty ? "-dirty" : "");
}

// The name in the file of a training program (workloads/programs), which the run's facts repeat.
std::string program_name(const Subject& subject) {
  if (!subject.told) return {};
  const auto found = subject.told->find(std::string(kLibraryFacts) + spec::kProgramFact);
  return found == subject.told->end() ? std::string() : found->second;
}

std::string engine_name(const Subject& subject) {
  if (const auto program = program_name(subject); !program.empty()) {
    const auto of_repository = commit_text(subject);
    return of_repository.empty() ? program : program + " " + of_repository;
  }
  if (subject.engine_sha256.empty()) {
    return subject.source.empty() ? "unknown engine outside a sweep" : "unknown engine of " + subject.source;
  }
  const auto commit = commit_text(subject);
  return commit.empty() ? digest_text(subject) : commit;
}

using Fact = std::pair<std::string, std::string>;

// The facts in which it differs from any of these subjects.
std::vector<Fact> differing_facts(const Subject& subject, const std::vector<const Subject*>& others) {
  std::vector<Fact> out;
  if (!subject.told) return out;
  for (const auto& [name, value] : *subject.told) {
    const bool common =
        std::all_of(others.begin(), others.end(), [&, &fact = name, &mine = value](const Subject* other) {
          if (!other->told) return false;
          const auto found = other->told->find(fact);
          return found != other->told->end() && found->second == mine;
        });
    if (!common) out.emplace_back(name, value);
  }
  return out;
}

// "libraries.oneDNN 2.6.3, mpi absent"
std::string facts_text(const std::vector<Fact>& facts) {
  std::string out;
  for (const auto& [name, value] : facts) out += (out.empty() ? "" : ", ") + name + " " + value;
  return out;
}

bool is_digest(const std::string& text) {
  constexpr std::size_t kFewest = 16;  // shorter ones are numbers and versions
  return text.size() >= kFewest && is_commit(text);
}

// "torch 2.4.0, train.py 1f3a9c02 and 3 more": a program has many facts, of which versions say the most.
std::string short_facts_text(std::vector<Fact> facts) {
  constexpr std::size_t kMost = 2;
  std::stable_partition(facts.begin(), facts.end(), [](const Fact& fact) { return !is_digest(fact.second); });
  const auto count = facts.size();
  facts.resize(std::min(count, kMost));
  for (auto& [name, value] : facts) {
    for (const std::string_view prefix : {std::string_view(kLibraryFacts), std::string_view(spec::kFileFacts)}) {
      if (name.starts_with(prefix)) name.erase(0, prefix.size());
    }
    if (is_digest(value)) value.resize(kShownDigits);
  }
  return facts_text(facts) + (count > kMost ? " and " + std::to_string(count - kMost) + " more" : "");
}

// Subjects of one group are told apart by more than their names. Unnamed programs are one group.
std::string group_of(const Subject& subject) {
  return is_program(subject) && program_name(subject).empty() ? "program" : subject_name(subject);
}

// `group` has the subject, too.
std::string longer_name(const Subject& subject, const std::vector<const Subject*>& group) {
  constexpr std::size_t kMostCompared = 16;  // each is compared with each
  const auto name = subject_name(subject);
  const bool other_engine = std::any_of(
      group.begin(), group.end(), [&](const Subject* other) { return other->engine_sha256 != subject.engine_sha256; });
  std::string more;
  if (!other_engine) {
    more = facts_text(differing_facts(subject, group));
  } else {
    if (name.find(digest_text(subject)) == std::string::npos) more = digest_text(subject);
    const bool compares = is_program(subject) && group.size() <= kMostCompared;
    const auto facts = compares ? short_facts_text(differing_facts(subject, group)) : std::string();
    if (!facts.empty()) more += (more.empty() ? "" : ": ") + facts;
  }
  return name + (more.empty() ? "" : " (" + more + ")");
}

}  // namespace

bool Subject::is_faulty() const {
  return std::any_of(inject.begin(), inject.end(),
                     [](const std::string& words) { return !words.starts_with("work_clock"); });
}

bool same_subject(const Subject& a, const Subject& b) {
  const auto known = [](const Subject& s) { return std::tie(s.engine_sha256, s.source, s.inject, s.side); };
  return known(a) == known(b) && (!a.told || !b.told || a.told == b.told || *a.told == *b.told);
}

std::string subject_name(const Subject& subject) {
  auto out = engine_name(subject);
  for (const auto& words : subject.inject) out += ", inject " + words;
  if (subject.side == "?") {
    out += ", side unknown";
  } else if (!subject.side.empty()) {
    out += ", side " + subject.side;
  }
  return out;
}

std::vector<std::string> distinct_names(const std::vector<Subject>& subjects) {
  // A run of years has thousands of subjects, so that their names must not be compared in pairs.
  std::map<std::string, std::vector<const Subject*>> by_group;
  for (const auto& subject : subjects) by_group[group_of(subject)].push_back(&subject);
  std::vector<std::string> out;
  for (const auto& subject : subjects) {
    out.push_back(longer_name(subject, by_group.at(group_of(subject))));
  }
  return out;
}

std::string names_text(const std::vector<Subject>& subjects) {
  const auto names = distinct_names(subjects);
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kListed); ++i) out += (i > 0 ? "; " : "") + names[i];
  return names.size() > kListed ? out + "; and " + std::to_string(names.size() - kListed) + " more" : out;
}

std::vector<std::size_t> named_subjects(const std::vector<Subject>& subjects, const std::string& text) {
  const auto names = distinct_names(subjects);
  const auto those = [&](const auto& is_meant) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      if (is_meant(i)) out.push_back(i);
    }
    return out;
  };
  if (auto exact = those([&](std::size_t i) { return names[i] == text; }); !exact.empty()) return exact;
  if (auto same = those([&](std::size_t i) { return subject_name(subjects[i]) == text; }); !same.empty()) return same;
  return those([&](std::size_t i) {
    const bool digits = text.size() >= kFewestDigits && subjects[i].engine_sha256.starts_with(text);
    return digits || (names[i] + ", " + digest_text(subjects[i])).find(text) != std::string::npos;
  });
}

std::size_t SubjectGroups::place_of(const Subject& subject) {
  auto& places = of_engine_[subject.engine_sha256];
  for (const auto place : places) {
    if (!same_subject(subjects_[place], subject)) continue;
    if (!subjects_[place].told) subjects_[place] = subject;
    return place;
  }
  places.push_back(subjects_.size());
  subjects_.push_back(subject);
  return subjects_.size() - 1;
}

}  // namespace perfbench::harness
