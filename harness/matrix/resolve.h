// Resolves assignments to a RunSpec. Include this in .cpp files only, because it needs the JSON library.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/matrix/matrix_parts.h"
#include "harness/system/input_error.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {

class ModelCatalog;
class YamlDocument;

// Valid values that contradict each other.
struct Contradiction {
  const Assignment* culprit = nullptr;  // the assignment of the field to change; null: no assignment set it
  std::string message;
};

struct Resolved {
  spec::RunSpec run;
  std::int64_t repeats = 1;
  std::map<std::string, const Assignment*> in_force;  // the last assignment of each key
  spec::Json fields;                                  // all fields of `run`
  std::optional<Contradiction> contradiction;

  // The value of any key of run_keys(), in the form in which a user writes it.
  spec::Json value_of(const std::string& key) const;
};

class Resolver {
 public:
  // `program` is that of the matrix; null for perfbench-engine. All arguments must outlive the resolver.
  Resolver(const YamlDocument& document, const ModelCatalog& catalog, const ProgramPart* program = nullptr);

  // Throws InputError if the value is not valid in any cell: an unknown name, a wrong type, out of range.
  void check_alone(const Assignment& assignment);

  // Applies the assignments in order, so that later ones win. Throws InputError for a value that is invalid by itself:
  // an unknown model, a wrong type, out of range.
  Resolved resolve(const std::vector<const Assignment*>& in_order);

  // Checks for required values that no assignment gave, which throw InputError, and for contradictions, which are
  // recorded in `resolved`.
  void check(Resolved& resolved) const;

  // An error about a value, at the place where it was written.
  InputError error(const Assignment* at, const std::string& message) const;

 private:
  const spec::Json& model_fields(const Assignment& model);
  const std::string& hardware_name(const std::string& written, const Assignment* at);
  void apply_model(Resolved& out);
  void apply_fields(Resolved& out) const;
  void apply_batch(Resolved& out) const;
  void apply_hardware(Resolved& resolved);
  static void apply_loss_chunk(Resolved& resolved);
  void apply_data_path(Resolved& resolved) const;
  void make_absolute(Resolved& resolved, const std::string& key, std::string& path) const;
  void apply_evaluation_steps(Resolved& resolved);
  void resolve_program(Resolved& out);
  spec::Json declared_fields(const Resolved& out);
  std::string template_value(const Resolved& resolved, const std::string& name) const;
  spec::ProgramSpec filled_program(const Resolved& resolved) const;

  const YamlDocument& document_;
  const ModelCatalog& catalog_;
  const ProgramPart* program_;
  std::map<std::string, std::string> known_hardware_;  // the name as written -> the name in the data file
  spec::Json defaults_;                                // all fields of RunSpec{}
  std::map<std::size_t, spec::Json> model_fields_;     // by the id of the assignment that names the model
  std::map<std::string, std::int64_t> sequences_;      // number of sequences in the split of a data set, by its folder
};

}  // namespace perfbench::harness
