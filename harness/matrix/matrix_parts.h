// A matrix file as it was read: every value with the place it was written at, nothing multiplied out yet. Include in
// .cpp files only: it pulls in the JSON library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/matrix/constraint.h"
#include "harness/matrix/run_keys.h"

namespace perfbench::harness {

// Where a value was written: a JSON pointer into the matrix, or words of the command line.
struct Origin {
  std::string pointer;
  std::string command_line;  // "--set seq_len=4096"; empty: it is in the file
};

// One key gets a value. `id` numbers the assignments of a matrix.
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

// A column of values. `key` is the field that plain values set; empty for an axis of named values only.
struct Axis {
  std::string name;  // as labels show it
  std::string key;
  std::string pointer;
  std::vector<AxisValue> values;
};

// Axes that advance together: one axis, or the columns of a zip.
struct AxisGroup {
  std::vector<Axis> columns;

  std::size_t size() const { return columns.front().values.size(); }
};

// A cartesian product: of axes and zip, or of one include entry.
struct Block {
  std::vector<AxisGroup> groups;
  std::string pointer;
};

// A key (of a field or an axis) and the values it may have: text with * as any run of characters; "!" before it
// negates.
struct Condition {
  std::string name;  // axis name, else canonical key
  std::vector<std::string> patterns;
};
using When = std::vector<Condition>;  // all must hold; an empty list always does

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

struct MatrixParts {
  std::string name;
  std::string description;
  std::vector<Assignment> defaults;
  std::vector<Axis> named;  // values that include may use; not multiplied
  std::vector<Block> blocks;
  std::vector<ExcludeRule> excludes;
  std::vector<OverrideRule> overrides;
  std::vector<ConstraintRule> constraints;
  std::vector<Assignment> command_line;  // --set, applied last
  When only;                             // --only
  std::size_t assignments = 0;           // how many there are

  bool has_axis(std::string_view axis_name) const;
  std::vector<std::string> axis_names() const;
};

class Mistakes;
class YamlDocument;

// The file. Where there are mistakes, the parts are not whole. Throws InputError where nothing can be read.
MatrixParts parse_matrix(const YamlDocument& document, Mistakes& mistakes);

struct Overrides;
// Adds the command line's words to `parts`.
void parse_overrides(const Overrides& overrides, MatrixParts& parts, Mistakes& mistakes);

}  // namespace perfbench::harness
