// The code that measured an earlier night, as a side of pairs: an engine of the archive, or a commit of the training
// program.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/app/night/night.h"
#include "harness/app/pairs/ab_preparation.h"

namespace perfbench::harness {

struct EarlierCode {
  std::optional<AbSide> side;  // a revision is not built yet
  // For a program whose checkout is clean: its commit, so that both sides are built in the same way.
  std::optional<AbSide> tonight = {};
  NoPair no_pair = {};           // without a side: `refuted` for code that is tonight's, otherwise `unconfirmed`
  bool should_have_run = false;  // without a side: it was kept, and cannot run any more
};

// Whether both files exist and have the same bytes.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

class EarlierCodes {
 public:
  EarlierCodes(Night& night, const Measured& measured, const Screened& screened)
      : night_(night), measured_(measured), screened_(screened) {}

  // The code of `cell` in the night `then`, which the reasons call `name`: "the last good night".
  EarlierCode of(const std::string& cell, const NightId& then, const std::string& name);

  // For each commit of the program: its first night and a cell, in the order of the nights.
  std::vector<std::pair<std::string, NightId>> revisions() const;

 private:
  EarlierCode engine(const std::string& cell, const NightId& then, const std::string& name) const;
  EarlierCode revision(const std::string& cell, const NightId& then, const std::string& name);
  AbSide revision_side(const std::string& commit);

  Night& night_;
  const Measured& measured_;
  const Screened& screened_;
  std::optional<RevisionSource> source_;
  std::map<std::string, AbSide> revision_sides_;  // by commit; git is asked once
};

}  // namespace perfbench::harness
