// A matrix file as it was read: every value with its place in the file, before anything is multiplied out. Include this
// in .cpp files only, because it needs the JSON library.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/matrix/constraint.h"
#include "harness/matrix/matrix.h"
#include "harness/matrix/run_keys.h"
#include "workloads/spec/program_spec.h"

namespace perfbench::harness {

// The place of a value: a JSON pointer into the matrix, or words of the command line.
struct Origin {
  std::string pointer;
  std::string command_line;  // "--set seq_len=4096"; empty: the value is in the file
};

// Sets one key to a value. `id` numbers the assignments of a matrix.
struct Assignment {
  std::string key;  // canonical: "mesh.ici.fsdp"
  spec::Json value;
  Origin origin;
  std::size_t id = 0;
};

struct AxisValue {
  std::string label;
  std::vector<Assignment> set;
};

// A list of values. `key` is the field that plain values set; it is empty for an axis that has only named values.
struct Axis {
  std::string name;  // as shown in labels
  std::string key;
  std::string pointer;
  std::vector<AxisValue> values;
};

// Axes that advance together: a single axis, or the columns of a zip.
struct AxisGroup {
  std::vector<Axis> columns;

  std::size_t size() const { return columns.front().values.size(); }
};

// A cartesian product: of axes and zip, or of one include entry.
struct Block {
  std::vector<AxisGroup> groups;
  std::string pointer;
};

// A key (of a field or an axis) and the values that match, where * stands for any number of characters; a "!" in front
// negates.
struct Condition {
  std::string name;  // name of the axis, or else the canonical key
  std::vector<std::string> patterns;
};
using When = std::vector<Condition>;  // all conditions must be met; an empty list always matches

struct ExcludeRule {
  When when;
  std::string reason;
  std::string pointer;
};

struct OverrideRule {
  When when;
  std::vector<Assignment> set;
  std::string pointer;
};

struct ConstraintRule {
  When when;
  Constraint require;
  std::string reason;
  std::string pointer;
};

// The training program that runs instead of perfbench-engine.
struct ProgramPart {
  spec::ProgramSpec spec;                   // including its templates
  ProgramRepository repo;                   // an empty path: the program names no repository
  std::map<std::string, std::string> used;  // names in templates, with the pointer of their first use
  std::vector<std::string> free_keys;       // names that are neither keys of a run nor filled in at the start
};

struct MatrixParts {
  std::string name;
  std::string description;
  std::optional<ProgramPart> program;  // nullopt: perfbench-engine
  std::vector<Assignment> defaults;
  std::vector<Axis> named;  // values that include may use; they are not multiplied
  std::vector<Block> blocks;
  std::vector<ExcludeRule> excludes;
  std::vector<OverrideRule> overrides;
  std::vector<ConstraintRule> constraints;
  std::vector<Assignment> command_line;  // --set, applied last
  When only;                             // --only
  std::size_t assignments = 0;           // number of assignments

  // The key for a word as users write it, including free keys of the program.
  std::optional<RunKey> find(std::string_view word) const;
  bool has_axis(std::string_view axis_name) const;
  std::vector<std::string> axis_names() const;
};

class Mistakes;
class YamlDocument;

// Reads the file. If there are mistakes, the parts are incomplete. Throws InputError if nothing can be read.
MatrixParts parse_matrix(const YamlDocument& document, Mistakes& mistakes);

struct Overrides;
// Adds the options of the command line to `parts`.
void parse_overrides(const Overrides& overrides, MatrixParts& parts, Mistakes& mistakes);

}  // namespace perfbench::harness
