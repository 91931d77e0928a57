// A store in which one run was executed by many subjects. Each has a step time of its own, so that a figure that mixes
// two subjects equals none of theirs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/store/sqlite.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {

// The runs of one subject in the store.
struct KnownSubject {
  std::string name;   // subject_name()
  double step_s = 0;  // of every run
  std::int64_t runs = 0;
  std::string sweep_id = {};
};

// Two sweeps of one engine; two nights of two engines; a comparison of two revisions as an older perfbench recorded it
// (attempts do not record their engine); a comparison with an injected side; and an imported sweep of an older
// perfbench whose engine is unknown.
class SubjectStore {
 public:
  SubjectStore();

  std::filesystem::path db() const { return scratch_ / "s.db"; }
  std::filesystem::path folder() const { return scratch_.path(); }
  const std::string& run_id() const { return run_id_; }
  // The subjects without duplicates and without the injected side; sweeps of one engine are one subject.
  const std::vector<KnownSubject>& clean() const { return clean_; }
  const KnownSubject& injected() const { return injected_; }

 private:
  ExampleRun example(const std::string& sweep_id, char commit, double step_s);
  std::filesystem::path write(const ExampleRun& example);
  void add_sweep(const std::string& id, SweepKind kind, char engine, double step_s, int runs);
  void add_comparison(const std::string& id, char a, char b, const std::string& fault, double a_s, double b_s);
  void add_import();

  ScratchFolder scratch_;
  int written_ = 0;
  std::string run_id_;
  std::vector<KnownSubject> clean_;
  KnownSubject injected_;
};

}  // namespace perfbench::harness
