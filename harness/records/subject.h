// The subject of an attempt: the thing that was run. It consists of one engine, identified by its bytes, the faults
// that were injected into it, its side of a comparison and the libraries with which it ran. Numbers of two subjects are
// never pooled: a row, a median or a baseline belongs to one subject. This file is the only definition of "same
// subject".
//
// The engine's SHA-256 is its identity; the commit is only its name. An engine that was rebuilt from the same commit
// with other bytes is another subject. All nights and sweeps of one engine have the same subject. The runs of a
// comparison have another subject than those of a sweep, because the runs of a pair share the machine in another way.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace perfbench::harness {

struct Subject {
  std::string engine_sha256 = {};        // empty: not recorded
  std::string source = {};               // if the engine is not recorded: the sweep whose engine it is
  std::vector<std::string> inject = {};  // the words after --inject (engine/faults/faults.h)
  std::string side = {};                 // in a comparison: A, B, or ? if the side is not recorded; otherwise empty
  // Library versions and, without engine_sha256, the facts of the build, by name. Null: the engine did not report any.
  std::shared_ptr<const std::map<std::string, std::string>> told = {};
  // The name of the engine. It is not compared.
  std::string git_commit = {};
  bool git_dirty = false;

  // Whether a fault was injected. The clock of a demonstration (work_clock) is not a fault.
  bool is_faulty() const;
};

// An attempt whose engine reported nothing, because it crashed early or never started, has the same subject as any
// attempt that is equal otherwise.
bool same_subject(const Subject& a, const Subject& b);

// "a1b2c3d4-dirty, inject slow:span=matmul,fraction=0.5, side B"; "unknown engine of SWEEP"; for a program by its file,
// "maxtext" or "maxtext a1b2c3d4", the commit of its repository.
std::string subject_name(const Subject& subject);

// The names, extended by the engine's digest or the libraries that differ where subject_name() is the same. A program
// is extended by some of the facts in which it differs from the other programs: "program 1f3a9c02 (torch 2.4.0)".
std::vector<std::string> distinct_names(const std::vector<Subject>& subjects);

// The same in one line; if there are many, only the first few.
std::string names_text(const std::vector<Subject>& subjects);

// The indices of the subjects that a user means by `text`. It is matched in this order: a name of distinct_names(); a
// subject_name(); a part of a name, or the first 6 or more digits of an engine_sha256.
std::vector<std::size_t> named_subjects(const std::vector<Subject>& subjects, const std::string& text);

// Numbers the subjects of attempts in the order in which they appear.
class SubjectGroups {
 public:
  // The number of a subject's group, from 0. A group of attempts whose engines reported nothing takes the first subject
  // that reports something.
  std::size_t place_of(const Subject& subject);

  const std::vector<Subject>& subjects() const { return subjects_; }

 private:
  std::vector<Subject> subjects_;
  std::map<std::string, std::vector<std::size_t>> of_engine_;  // by engine_sha256: a run of years has thousands
};

}  // namespace perfbench::harness
