#include "workloads/spec/run_program.h"

#include "workloads/spec/run_spec.h"

namespace perfbench::spec {

bool says(const RunSpec& run, std::string_view field) {
  if (!run.program) return true;
  const auto& declared = run.program->declared;
  const std::string name(field);
  const auto inside = declared.lower_bound(name + ".");
  return declared.contains(name) || (inside != declared.end() && inside->starts_with(name + "."));
}

bool says_tokens(const RunSpec& run) {
  return says(run, "seq_len") && says(run, "global_batch");
}

}  // namespace perfbench::spec
