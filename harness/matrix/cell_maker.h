// Makes a cell from one combination of a matrix's values. Include this in .cpp files only, because it needs the JSON
// library.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/matrix/match.h"
#include "harness/matrix/matrix.h"
#include "harness/matrix/matrix_parts.h"
#include "harness/matrix/resolve.h"

namespace perfbench::harness {

struct Choice {
  const Axis* axis;
  const AxisValue* value;
};

struct MadeCell {
  Cell cell;
  bool chosen = false;  // whether --only selects it; if not, `cell` has no run
  std::optional<Contradiction> contradiction;
  std::optional<std::string> mistake;          // why there is no cell
  std::vector<std::size_t> in_force;           // ids of the assignments in force
  std::vector<const std::string*> used_rules;  // pointers of the excludes and overrides that matched
};

// Several makers may run at once on the same parts, each in its own thread.
class CellMaker {
 public:
  // All three arguments must outlive it.
  CellMaker(const YamlDocument& document, const ModelCatalog& catalog, const MatrixParts& parts)
      : document_(document), parts_(parts), resolver_(document, catalog, parts.program ? &*parts.program : nullptr) {}

  MadeCell make(const std::vector<Choice>& choices, std::size_t combination);

  // Throws InputError if the value is not valid in any cell.
  void check_alone(const Assignment& assignment) { resolver_.check_alone(assignment); }

  // An error about a value, at the place where it was written.
  InputError error(const Assignment* at, const std::string& message) const { return resolver_.error(at, message); }

 private:
  void make_into(MadeCell& made, const std::vector<Choice>& choices, std::size_t combination);
  Resolved resolve_with_rules(const AxisLabels& labels, std::vector<const Assignment*> assignments, MadeCell& made);
  AxisLabels final_labels(const std::vector<Choice>& choices, const Resolved& resolved) const;
  std::optional<std::string> exclusion(const AxisLabels& labels, const Resolved& resolved, MadeCell& made) const;
  std::optional<std::string> violation(const ConstraintRule& rule, const Resolved& resolved) const;

  const YamlDocument& document_;
  const MatrixParts& parts_;
  Resolver resolver_;
};

}  // namespace perfbench::harness
