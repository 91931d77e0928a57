#include "harness/matrix/resolve.h"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <system_error>

#include "harness/matrix/model_catalog.h"
#include "harness/matrix/yaml_document.h"
#include "harness/system/input_error.h"
#include "harness/system/place_names.h"
#include "workloads/datasets/dataset_error.h"
#include "workloads/datasets/flat_tokens.h"
#include "workloads/spec/divide_up.h"
#include "workloads/spec/loss_chunk.h"
#include "workloads/spec/remat_policy.h"
#include "workloads/spec/run_json.h"
#include "workloads/spec/run_program.h"
#include "workloads/spec/validate.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using spec::Json;

constexpr std::string_view kThisMachine = "host";  // used in place of a device type

std::string to_key(const std::string& pointer) {
  std::string key = pointer.empty() ? "" : pointer.substr(1);
  for (char& c : key) {
    if (c == '/') c = '.';
  }
  return key;
}

// An integer where the parts divide the whole, so that a command has "2" and not "2.0".
Json share(std::int64_t whole, std::int64_t parts) {
  if (whole % parts == 0) return whole / parts;
  return static_cast<double>(whole) / static_cast<double>(parts);
}

std::string up(const std::string& key) {
  const auto dot = key.rfind('.');
  return dot == std::string::npos ? "" : key.substr(0, dot);
}

// The assignment that caused an error at `key`: the assignment of the field itself, or else of the group around it, or
// else of a neighbouring field; null if there is none.
const Assignment* assignment_near(const Resolved& resolved, std::string key) {
  if (is_batch_key(key)) {
    for (const auto* batch : {"global_batch", "batch_per_device", "batch_per_shard"}) {
      if (const auto found = resolved.in_force.find(batch); found != resolved.in_force.end()) return found->second;
    }
    return nullptr;
  }
  for (; !key.empty(); key = up(key)) {
    if (const auto found = resolved.in_force.find(key); found != resolved.in_force.end()) return found->second;
    const auto inside = resolved.in_force.lower_bound(key + ".");
    if (inside != resolved.in_force.end() && inside->first.starts_with(key + ".")) return inside->second;
  }
  return nullptr;
}

}  // namespace

Json Resolved::value_of(const std::string& key) const {
  if (key == "model") {
    const auto model = in_force.find("model");
    return model != in_force.end() && model->second->value.is_string() ? model->second->value : Json(run.model.name);
  }
  if (key == "repeats") return repeats;
  if (key == "devices") return run.mesh.devices();
  if (key == "devices_per_node") return run.mesh.ici.size();
  if (key == "node_count") return run.mesh.dcn.size();
  if (key == "total_dp") return run.mesh.dp();
  if (key == "total_fsdp") return run.mesh.fsdp();
  if (key == "batch_per_device") return share(run.global_batch, run.mesh.devices());
  if (key == "batch_per_shard") return share(run.global_batch, run.mesh.data_shards());
  if (key == "microbatch") return share(run.global_batch, run.mesh.data_shards() * run.grad_accum);
  if (key == "microbatch_per_device") return share(run.global_batch, run.mesh.devices() * run.grad_accum);
  if (key == "microbatches") return run.mesh.data_shards() * run.grad_accum;
  if (key == "batch_tokens") return run.global_batch * run.seq_len;
  const auto pointer = spec::pointer_of(key);
  return fields.contains(pointer) ? fields.at(pointer) : Json();
}

Resolver::Resolver(const YamlDocument& document, const ModelCatalog& catalog, const ProgramPart* program)
    : document_(document), catalog_(catalog), program_(program) {
  const spec::RunSpec defaults;  // a temporary here is "maybe uninitialized" to g++ 12 when it sees many files at once
  defaults_ = spec::fields_to_json(defaults, spec::Written::whole);
}

InputError Resolver::error(const Assignment* at, const std::string& message) const {
  if (at == nullptr) return document_.error("", message);
  if (at->origin.command_line.empty()) return document_.error(at->origin.pointer, message);
  return InputError("[matrix] " + at->origin.command_line + ": " + message);
}

const Json& Resolver::model_fields(const Assignment& model) {
  const auto known = model_fields_.find(model.id);
  if (known != model_fields_.end()) return known->second;
  Json fields;
  try {
    if (model.value.is_string()) {
      const auto base_dir = fs::path(document_.file()).parent_path();
      fields =
          spec::fields_to_json(catalog_.model(model.value.get<std::string>(), base_dir).model, spec::Written::whole);
    } else {
      fields = spec::fields_to_json(spec::fields_from_json<spec::ModelSpec>(model.value, spec::Missing::takes_default),
                                    spec::Written::whole);
    }
  } catch (const spec::SpecError& e) {
    if (model.origin.command_line.empty()) throw document_.error(e, model.origin.pointer);
    throw error(&model, e.what());
  }
  return model_fields_.emplace(model.id, std::move(fields)).first->second;
}

// Applies the model by its name, and then changes of single fields. A model with changed fields is another model, and
// its name says so.
void Resolver::apply_model(Resolved& out) {
  const auto model = out.in_force.find("model");
  if (model == out.in_force.end()) {
    throw document_.error("", "no model: set 'model' in defaults, as an axis or in each included cell");
  }
  out.fields["model"] = model_fields(*model->second);
  std::string changes;
  for (auto it = out.in_force.lower_bound("model."); it != out.in_force.end() && it->first.starts_with("model.");
       ++it) {
    Json& field = out.fields[spec::pointer_of(it->first)];
    if (field == it->second->value) continue;
    changes += (changes.empty() ? "" : ",") + it->first.substr(6) + "=" + plain_text(it->second->value);
    field = it->second->value;
  }
  if (!changes.empty() && !out.in_force.contains("model.name")) {
    Json& name = out.fields["model"]["name"];
    name = plain_text(name) + "[" + changes + "]";
  }
}

void Resolver::apply_fields(Resolved& out) const {
  for (const auto& [key, assignment] : out.in_force) {
    const bool is_field = key != "model" && !key.starts_with("model.") && key != "repeats" &&
                          (key == "global_batch" || !is_batch_key(key));
    if (is_field) out.fields[spec::pointer_of(key)] = assignment->value;
  }
  if (!out.in_force.contains("seq_len")) out.fields["seq_len"] = out.fields["model"]["max_seq_len"];
  // apply_batch replaces it, or check() reports that it is missing
  if (!out.in_force.contains("global_batch")) out.fields["global_batch"] = 1;
}

// The name that the data file has for `written`, which may be an alias (H100-SXM).
const std::string& Resolver::hardware_name(const std::string& written, const Assignment* at) {
  auto known = known_hardware_.find(written);
  if (known == known_hardware_.end()) {
    try {
      known = known_hardware_.emplace(written, catalog_.hardware(written).name).first;
    } catch (const spec::SpecError& e) {
      throw error(at, e.what());
    }
  }
  return known->second;
}

// A device type gives the same run under its alias and its name.
void Resolver::apply_hardware(Resolved& resolved) {
  if (resolved.run.hardware == kThisMachine) return;
  resolved.run.hardware = hardware_name(resolved.run.hardware, assignment_near(resolved, "hardware"));
  resolved.fields["hardware"] = resolved.run.hardware;
}

void Resolver::apply_loss_chunk(Resolved& resolved) {
  if (resolved.in_force.contains("loss_chunk_tokens")) return;
  auto& run = resolved.run;
  run.loss_chunk_tokens = spec::loss_chunk_tokens_for(run.device, run.precision, run.logits, run.model.vocab_size);
  resolved.fields["loss_chunk_tokens"] = run.loss_chunk_tokens;
}

void Resolver::apply_data_path(Resolved& resolved) const {
  if (resolved.run.data.kind != spec::DataKind::synthetic) make_absolute(resolved, "data.path", resolved.run.data.path);
  make_absolute(resolved, "evaluation.path", resolved.run.evaluation.path);
  make_absolute(resolved, "checkpoint.restore", resolved.run.checkpoint.restore);
  auto& kept = resolved.run.checkpoint.path;
  if (kept.empty() || fs::path(kept).is_absolute()) return;
  kept = fs::absolute(kept).lexically_normal().string();  // the run creates it, like its own folder
  resolved.fields[spec::pointer_of("checkpoint.path")] = kept;
}

// run.json must name the same data set wherever an engine reads it. A path in a file is relative to the folder of the
// file, if it exists there; a path on the command line is relative to the working directory.
void Resolver::make_absolute(Resolved& resolved, const std::string& key, std::string& path) const {
  if (path.empty()) return;
  const auto given = resolved.in_force.find(key);
  const bool by_file = given != resolved.in_force.end() && given->second->origin.command_line.empty();
  const auto beside_file = fs::absolute(fs::path(document_.file()).parent_path() / path);
  std::error_code ignored;
  const bool is_beside = by_file && fs::symlink_status(beside_file, ignored).type() != fs::file_type::not_found;
  const auto found = is_beside ? beside_file : fs::absolute(path);
  if (const auto problem = path_problem(found, PathIs::folder)) {
    throw error(assignment_near(resolved, key), key + " '" + path + "': " + *problem + "; name a data set");
  }
  if (fs::path(path).is_absolute()) return;
  path = fs::weakly_canonical(found).string();
  resolved.fields[spec::pointer_of(key)] = path;
}

// An evaluation reads every row once, so it has its own number of steps.
void Resolver::apply_evaluation_steps(Resolved& resolved) {
  auto& run = resolved.run;
  if (run.trains() || run.data.path.empty()) return;
  const auto folder = fs::path(run.data.path) / run.data.split;
  auto known = sequences_.find(folder.string());
  if (known == sequences_.end()) {
    try {
      const auto sequences = spec::FlatTokens(run.data.path, run.data.split).sequences();
      known = sequences_.emplace(folder.string(), sequences).first;
    } catch (const spec::DatasetError& e) {
      throw error(assignment_near(resolved, "data.path"), e.what());
    }
  }
  if (known->second == 0) throw error(assignment_near(resolved, "data.path"), folder.string() + " has no row");
  run.steps = spec::divide_up(known->second, run.global_batch);
  resolved.fields["steps"] = run.steps;
}

// Converts sequences per device or per data shard to sequences of the step.
void Resolver::apply_batch(Resolved& out) const {
  for (const auto* key : {"batch_per_device", "batch_per_shard"}) {
    const auto found = out.in_force.find(key);
    if (found == out.in_force.end()) continue;
    const bool by_device = found->first == "batch_per_device";
    const auto parts = by_device ? out.run.mesh.devices() : out.run.mesh.data_shards();
    const double batch = parse_share(found->second->value).value() * static_cast<double>(parts);
    // A fraction such as 1/3 has a rounding error in its last bit. 1e-6 sequences is larger than that and smaller than
    // any real remainder.
    constexpr double kRounding = 1e-6;
    const double whole = std::round(batch);
    if (std::abs(batch - whole) > kRounding || whole < 1 || whole > 1e9) {
      out.contradiction = {found->second, std::string(key) + " " + plain_text(found->second->value) + " on " +
                                              std::to_string(parts) + (by_device ? " devices" : " data shards") +
                                              " is a batch of " + fmt::format("{}", batch) +
                                              " sequences, which is not an integer from 1 to 1e9"};
      return;
    }
    out.run.global_batch = static_cast<std::int64_t>(whole);
    out.fields["global_batch"] = out.run.global_batch;
  }
}

void Resolver::check_alone(const Assignment& assignment) {
  const auto& key = assignment.key;
  if (!find_key(key)) return;  // a free key: any value
  if (key == "model") {
    model_fields(assignment);
    return;
  }
  const bool is_field = key == "global_batch" || (!is_batch_key(key) && key != "repeats");
  if (!is_field) return;  // already checked when it was read
  try {
    spec::RunSpec run;
    spec::read_field(spec::field_table<spec::RunSpec>(), &run, key, assignment.value);
    if (!run.remat_custom.empty()) run.remat = spec::kCustomRemat;
    if (key == "remat" || key.starts_with("remat_custom.")) spec::resolve_remat(run);
    if (key == "hardware" && run.hardware != kThisMachine) hardware_name(run.hardware, &assignment);
  } catch (const spec::SpecError& e) {
    throw error(&assignment, e.what());
  }
}

Resolved Resolver::resolve(const std::vector<const Assignment*>& in_order) {
  Resolved out;
  for (const Assignment* assignment : in_order) {
    if (is_batch_key(assignment->key)) std::erase_if(out.in_force, [](const auto& e) { return is_batch_key(e.first); });
    out.in_force[assignment->key] = assignment;
  }
  out.fields = defaults_;
  if (program_ == nullptr) {
    apply_model(out);
    apply_fields(out);
  }
  if (const auto repeats = out.in_force.find("repeats"); repeats != out.in_force.end()) {
    out.repeats = repeats->second->value.get<std::int64_t>();
  }
  if (program_ != nullptr) {
    resolve_program(out);
    return out;
  }
  try {
    out.run = spec::fields_from_json<spec::RunSpec>(out.fields, spec::Missing::is_error);
  } catch (const spec::SpecError& e) {
    throw error(assignment_near(out, to_key(e.pointer())), e.what());
  }
  apply_hardware(out);
  apply_loss_chunk(out);
  apply_data_path(out);
  try {
    spec::validate(out.run.mesh);
  } catch (const spec::SpecError& e) {
    throw error(assignment_near(out, "mesh"), e.what());
  }
  apply_batch(out);
  apply_evaluation_steps(out);
  return out;
}

// The fields that the matrix sets for a program's cell. A model is complete.
Json Resolver::declared_fields(const Resolved& out) {
  Json declared = Json::object();
  for (const auto& [key, assignment] : out.in_force) {  // "model" comes before "model.layers"
    if (key == "model") {
      declared["model"] = model_fields(*assignment);
    } else if (find_key(key) && key != "repeats" && (key == "global_batch" || !is_batch_key(key))) {
      declared[spec::pointer_of(key)] = assignment->value;
    }
  }
  return declared;
}

// A program's cell declares only what its matrix says, because defaults of perfbench-engine do not apply to it.
void Resolver::resolve_program(Resolved& out) {
  auto declared = declared_fields(out);
  try {
    out.run = spec::fields_from_json<spec::RunSpec>(declared, spec::Missing::takes_default);
    spec::validate(out.run.mesh);
  } catch (const spec::SpecError& e) {
    throw error(assignment_near(out, to_key(e.pointer())), e.what());
  }
  if (declared.contains("hardware")) {
    apply_hardware(out);
    declared["hardware"] = out.run.hardware;
  }
  if (assignment_near(out, "global_batch") != nullptr) {
    apply_batch(out);
    if (!out.contradiction && !out.in_force.contains("global_batch")) declared["global_batch"] = out.run.global_batch;
  }
  out.fields = spec::fields_to_json(out.run, spec::Written::whole);
  declared["schema_version"] = out.run.schema_version;
  // The words of a command need a batch. A cell that has none is recorded, and not run.
  declared["program"] = spec::fields_to_json(out.contradiction ? program_->spec : filled_program(out));
  out.run = spec::run_from_json(declared);
}

// In the form of the matrix. A value is derived from the mesh and the batch only if those are given.
std::string Resolver::template_value(const Resolved& resolved, const std::string& name) const {
  const auto key = find_key(name);
  const auto canonical = key ? key->name : name;
  if (const auto given = resolved.in_force.find(canonical); given != resolved.in_force.end()) {
    return plain_text(given->second->value);
  }
  const bool of_tokens = canonical == "batch_tokens";
  const bool of_batch = is_batch_key(canonical) || canonical.starts_with("microbatch") || of_tokens;
  const bool of_mesh = key && key->kind == KeyKind::derived;
  const bool known = of_batch ? assignment_near(resolved, "global_batch") != nullptr &&
                                    (!of_tokens || resolved.in_force.contains("seq_len"))
                     : of_mesh ? assignment_near(resolved, "mesh") != nullptr
                               : canonical.starts_with("model.") && resolved.in_force.contains("model");
  if (!known) {
    const auto missing = of_mesh ? "an axis of the mesh, such as 'dp'," : "'" + name + "'";
    throw document_.error(program_->used.at(name), "{" + name + "} has no value: set " + missing +
                                                       " in 'defaults', as an axis or in each included cell");
  }
  return plain_text(resolved.value_of(canonical));
}

spec::ProgramSpec Resolver::filled_program(const Resolved& resolved) const {
  auto program = program_->spec;
  fill_keys(program, [&](const std::string& name) { return template_value(resolved, name); });
  if (resolved.in_force.contains("steps")) program.steps = resolved.run.steps;
  return program;
}

void Resolver::check(Resolved& resolved) const {
  if (program_ != nullptr) return;
  if (assignment_near(resolved, "global_batch") == nullptr) {
    throw document_.error("", "no batch: set global_batch (sequences of a step), batch_per_device or batch_per_shard");
  }
  if (resolved.contradiction) return;
  try {
    spec::validate(resolved.run);
  } catch (const spec::SpecError& e) {
    resolved.contradiction = {assignment_near(resolved, to_key(e.pointer())), e.what()};
  }
}

}  // namespace perfbench::harness
