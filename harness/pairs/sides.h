// The two sides of a comparison as a user names them, and the engines that they start.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/execute/launcher.h"
#include "harness/matrix/matrix.h"
#include "harness/records/comparison.h"
#include "harness/records/executed_pair.h"

namespace perfbench::harness {

struct AbSide {
  std::string asked;  // "HEAD~1", "/opt/perfbench", "set:attention=flash", "current"
  SideKind kind = SideKind::current;
  std::string commit = {};                // for a revision, 40 digits
  std::filesystem::path repository = {};  // for a revision: the one that has its commit
  // For a revision of a training program: how to build it. Once it is built, the path is that of its tree.
  std::optional<ProgramRepository> program = {};
  EngineProgram engine = {};                       // the engine to start; for a revision once it is built
  std::vector<std::string> set = {};               // "attention=flash", for every cell
  std::vector<std::string> engine_arguments = {};  // added after the arguments of every run (Launcher)
  std::string matrix = {};                         // for a command: the text of its own matrix
  // For an environment: added to the variables of the matrix's program.
  std::map<std::string, std::string> variables = {};
  std::string image = {};  // for an environment: replaces the image of the program's container
};

// The record of a side in a comparison. `sha256` is that of the engine's file (engine_sha256).
StoredSide record_of(const AbSide& side, Side name, const std::string& sha256);

// perfbench-engine-inject beside `current_engine`, with these faults. Throws InputError if it does not exist or does
// not know one of them.
AbSide faulty_side(const std::vector<std::string>& faults, const std::filesystem::path& current_engine);

// The faults in an engine's command line: the words after each --inject.
std::vector<std::string> injected_faults(const std::vector<std::string>& command);

// Interprets the text without building anything: "current"; "set:KEY=VALUE,..."; "inject:FAULT"; "env:NAME=VALUE,...";
// "image:NAME"; the path of a perfbench-engine or of a folder that contains bin/perfbench-engine; otherwise a revision,
// with or without "rev:" before it, which `commit_of` looks up. Throws InputError.
AbSide parse_side(const std::string& text, const std::filesystem::path& current_engine,
                  const std::function<std::string(const std::string& revision)>& commit_of);

// The cells of the matrix under both sides' settings. `base` has the person's --only and --set; `expand_with` expands
// the matrix of a side, which is the same one for both unless they are commands, under other overrides. A cell that one
// side cannot have is not comparable; one that neither has is left out. Throws InputError where the matrix runs a
// program and a side names an engine, or the other way round.
std::vector<AbCell> pair_cells(const Overrides& base, const AbSide& a, const AbSide& b,
                               const std::function<Expansion(const Overrides&, const AbSide&)>& expand_with);

}  // namespace perfbench::harness
