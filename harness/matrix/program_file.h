// A program file: how a training program takes the keys of a run (docs/matrix.md, "Program files"). Include this in
// .cpp files only, because it needs the JSON library.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/matrix/matrix_parts.h"
#include "harness/matrix/read_program.h"

namespace perfbench::harness {

class YamlDocument;

// Applies to the runs that match `when`. It adds words to the command and variables to the environment. With a reason
// it refuses runs: those in which a key of `only` has another value or, without `only`, all of them.
struct ProgramRule {
  When when;  // empty: every run
  std::vector<std::string> command;
  std::map<std::string, std::string> env;
  When only;
  std::string reason;
};

struct ProgramFile {
  std::string name;
  std::string title;
  std::vector<std::string> sources;  // documents and sources that say what the command means
  ProgramPart program;
  // By the canonical name of a key: what the program calls each value. It cannot have other values.
  std::map<std::string, std::map<std::string, std::string>> values;
  std::vector<ProgramRule> rules;
  // Keys, by their canonical names, that a template, a table of values or a condition names. The program is told no
  // other key, so every other key has to be at its default.
  std::set<std::string> handled;
};

// Throws InputError, at their places, for all mistakes of the file.
ProgramFile read_program_file(const YamlDocument& document, const RepositoryChoice& repository = {});

}  // namespace perfbench::harness
