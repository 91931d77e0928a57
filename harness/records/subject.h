// The subject of an attempt: what was run. It is one engine, by its bytes, with the faults that were injected into it,
// its side of a comparison and the libraries it ran with. Numbers of two subjects are never pooled: a row, a median or
// a baseline is of one subject. This file is the only definition of "same subject".
//
// The engine's SHA-256 is its identity; the commit is its name. An engine that was rebuilt from the same commit with
// other bytes is another subject. Nights and sweeps of one engine are of one subject. The runs of a comparison are not
// of the same subject as those of a sweep, because pairs share the machine in another way.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace perfbench::harness {

struct Subject {
  std::string engine_sha256 = {};        // empty: not recorded
  std::string source = {};               // where the engine is not recorded: the sweep that it is known from
  std::vector<std::string> inject = {};  // the words after --inject (engine/faults/faults.h)
  std::string side = {};                 // of a comparison: A, B, or ? where the side is not recorded; else empty
  // Library versions, and without engine_sha256 the facts of the build, by name. Null: the engine told nothing.
  std::shared_ptr<const std::map<std::string, std::string>> told = {};
  // The name of the engine. Not compared.
  std::string git_commit = {};
  bool git_dirty = false;

  // Whether a fault was injected. The clock of a demonstration (work_clock) is not a fault.
  bool is_faulty() const;
};

// An attempt whose engine told nothing of itself, because it crashed early or was never started, is of the same subject
// as any attempt that is equal otherwise.
bool same_subject(const Subject& a, const Subject& b);

// "a1b2c3d4-dirty, inject slow:span=matmul,fraction=0.5, side B"; "unknown engine of SWEEP".
std::string subject_name(const Subject& subject);

// Their names, with the engine's digest or the libraries that differ where subject_name() is the same.
std::vector<std::string> distinct_names(const std::vector<Subject>& subjects);

// The same in one line, of many the first few.
std::string names_text(const std::vector<Subject>& subjects);

// Those of the subjects that a person means by `text`, as indices: a name of distinct_names(); else those of the
// subject_name(); else those of which it is a part of the name, or the first 6 or more digits of the engine_sha256.
std::vector<std::size_t> named_subjects(const std::vector<Subject>& subjects, const std::string& text);

// Numbers the subjects of attempts in the order in which they come.
class SubjectGroups {
 public:
  // The group of a subject, counted from 0. A group of attempts that told nothing takes the first subject that did.
  std::size_t place_of(const Subject& subject);

  const std::vector<Subject>& subjects() const { return subjects_; }

 private:
  std::vector<Subject> subjects_;
};

}  // namespace perfbench::harness
