// Assignments -> RunSpec. Include in .cpp files only: it pulls in the JSON library.
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

// A combination of sound values that contradict each other.
struct Contradiction {
  const Assignment* culprit = nullptr;  // the assignment of the field to change; null: none was made
  std::string message;
};

struct Resolved {
  spec::RunSpec run;
  std::int64_t repeats = 1;
  std::map<std::string, const Assignment*> in_force;  // by key, the last assignment
  spec::Json fields;                                  // of `run`, whole
  std::optional<Contradiction> contradiction;

  // The value of any key of run_keys(), in the form a person writes it.
  spec::Json value_of(const std::string& key) const;
};

class Resolver {
 public:
  Resolver(const YamlDocument& document, const ModelCatalog& catalog);

  // Throws InputError where the value cannot be meant, whatever else a cell has: an unknown name, a wrong type, out of
  // range.
  void check_alone(const Assignment& assignment);

  // Applies the assignments, later ones over earlier ones. Throws InputError where a value by itself cannot be meant:
  // an unknown model, a wrong type, out of range.
  Resolved resolve(const std::vector<const Assignment*>& in_order);

  // What no assignment gave and none can be guessed, and what contradicts itself (kept in `resolved`). Throws
  // InputError for the former.
  void check(Resolved& resolved) const;

  // The error of a value, at the place it was written.
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

  const YamlDocument& document_;
  const ModelCatalog& catalog_;
  std::map<std::string, std::string> known_hardware_;  // as written -> the file's own name
  spec::Json defaults_;                                // fields of RunSpec{}, whole
  std::map<std::size_t, spec::Json> model_fields_;     // by the id of the assignment that names the model
  std::map<std::string, std::int64_t> sequences_;      // of splits of data sets, by their folders
};

}  // namespace perfbench::harness
