#include "harness/matrix/program_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "harness/matrix/match.h"
#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/program_file.h"
#include "harness/matrix/resolve.h"
#include "harness/matrix/yaml_document.h"
#include "harness/system/input_error.h"
#include "harness/system/place_names.h"
#include "harness/system/run_id.h"
#include "workloads/spec/loss_chunk.h"
#include "workloads/spec/run_json.h"
#include "workloads/spec/run_program.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using spec::Json;

constexpr std::string_view kProgramExtension = ".yaml";

// Fields that describe a run and change nothing in it.
constexpr std::array<std::string_view, 4> kDescriptions{"schema_version", "hardware", "training_steps", "model.name"};

bool is_description(const std::string& key, const spec::RunSpec& run) {
  if (key == "model.max_seq_len") return run.model.position.kind != spec::PositionKind::learned;
  return std::find(kDescriptions.begin(), kDescriptions.end(), key) != kDescriptions.end();
}

std::string dotted(const std::string& pointer) {
  auto out = pointer.substr(1);
  std::replace(out.begin(), out.end(), '/', '.');
  return out;
}

// "model", "mesh": the group or the field itself.
std::string group_of(const std::string& key) {
  return key.substr(0, key.find('.'));
}

// Every single value of a run by its dotted name.
std::map<std::string, Json> values_of(const Json& fields) {
  std::map<std::string, Json> out;
  const auto flat = fields.flatten();  // named, because items() refers to it
  for (const auto& [pointer, value] : flat.items()) out[dotted(pointer)] = value;
  return out;
}

// The value of a key in a cell, for messages: "remat=full".
std::string assignment(const Resolved& cell, const std::string& key) {
  return short_name(key) + "=" + plain_text(cell.value_of(key));
}

class ProgramCells {
 public:
  ProgramCells(const ProgramFile& file, std::string path, const fs::path& data_dir)
      : file_(file), path_(std::move(path)), catalog_(data_dir), models_(catalog_.model_names()) {
    const spec::RunSpec defaults;
    defaults_ = values_of(spec::fields_to_json(defaults, spec::Written::whole));
    for (const auto& key : file.handled) groups_.insert(group_of(key));
  }

  void replace_engine(Cell& cell) {
    Resolved of_cell{.run = cell.run};
    of_cell.fields = spec::fields_to_json(cell.run, spec::Written::whole);
    if (!cell.infeasible) cell.infeasible = refusal(of_cell);
    Json run = cell.infeasible ? of_cell.fields : declared(of_cell);
    run["schema_version"] = cell.run.schema_version;
    run["program"] = spec::fields_to_json(cell.infeasible ? file_.program.spec : filled(of_cell));
    cell.run = spec::run_from_json(run);
    cell.run_id = run_id(cell.run);
    cell.program_repo = file_.program.repo.path;
    cell.bf16_weights_open = false;
  }

 private:
  // Why the program cannot run the cell, in one line.
  std::optional<std::string> refusal(const Resolved& cell) {
    if (!is_model_of_its_name(cell)) {
      return fmt::format("{}: workloads/models has another model of the name {}", file_.name, cell.run.model.name);
    }
    for (const auto& rule : file_.rules) {
      if (rule.reason.empty() || !matches(rule.when, {}, cell)) continue;
      if (rule.only.empty()) return file_.name + ": " + rule.reason;
      for (const auto& condition : rule.only) {
        if (matches({condition}, {}, cell)) continue;
        return fmt::format("{}: {}, but {}", file_.name, assignment(cell, condition.name), rule.reason);
      }
    }
    for (const auto& [key, table] : file_.values) {
      if (table.contains(plain_text(cell.value_of(key)))) continue;
      std::vector<std::string> known;
      for (const auto& [value, word] : table) known.push_back(value);
      return fmt::format("{} cannot be told {}; {} has {}", file_.name, assignment(cell, key), path_,
                         fmt::join(known, ", "));
    }
    return unhandled(cell);
  }

  // The file knows models by their names, which a matrix can give to a model of its own.
  bool is_model_of_its_name(const Resolved& cell) {
    const auto& name = cell.run.model.name;
    if (!std::binary_search(models_.begin(), models_.end(), name)) return true;
    auto known = known_models_.find(name);
    if (known == known_models_.end()) {
      known = known_models_.emplace(name, spec::fields_to_json(catalog_.model(name).model, spec::Written::whole)).first;
    }
    return known->second == cell.fields["model"];
  }

  // A value that the file does not mention has to be the default.
  std::optional<std::string> unhandled(const Resolved& cell) const {
    for (const auto& [key, value] : values_of(cell.fields)) {
      const bool known = file_.handled.contains(key) || (key.starts_with("model.") && file_.handled.contains("model"));
      const auto& run = cell.run;
      if (known || is_description(key, run)) continue;
      const auto chunk = spec::loss_chunk_tokens_for(run.device, run.precision, run.logits, run.model.vocab_size);
      if (key == "loss_chunk_tokens" && run.loss_chunk_tokens == chunk) continue;
      const auto found = defaults_.find(key);
      if (found != defaults_.end() && found->second == value) continue;
      return fmt::format("{} cannot be told {}={}: {} does not mention it", file_.name, short_name(key),
                         plain_text(value), path_);
    }
    return std::nullopt;
  }

  // The fields that mean something in the program's run. A model and a mesh are known as a whole, because the parts
  // that the file does not mention are at their defaults.
  Json declared(const Resolved& cell) const {
    Json out = Json::object();
    for (const auto* group : {"model", "mesh"}) {
      if (groups_.contains(group)) out[group] = cell.fields[group];
    }
    for (const auto& key : file_.handled) {
      const auto pointer = spec::pointer_of(key);
      if (cell.fields.contains(pointer)) out[pointer] = cell.fields[pointer];
    }
    out["hardware"] = cell.run.hardware;
    if (cell.run.training_steps > 0) out["training_steps"] = cell.run.training_steps;
    return out;
  }

  std::string value_for(const Resolved& cell, const std::string& name) const {
    const auto key = find_key(name)->name;
    auto text = plain_text(cell.value_of(key));
    const auto table = file_.values.find(key);
    return table == file_.values.end() ? text : table->second.at(text);
  }

  spec::ProgramSpec filled(const Resolved& cell) const {
    auto program = file_.program.spec;
    program.facts[spec::kProgramFact] = file_.name;
    for (const auto& rule : file_.rules) {
      if (!rule.reason.empty() || !matches(rule.when, {}, cell)) continue;
      program.command.insert(program.command.end(), rule.command.begin(), rule.command.end());
      for (const auto& [name, value] : rule.env) program.env[name] = value;
    }
    fill_keys(program, [&](const std::string& name) { return value_for(cell, name); });
    if (file_.handled.contains("steps")) program.steps = cell.run.steps;
    return program;
  }

  const ProgramFile& file_;
  const std::string path_;
  const ModelCatalog catalog_;
  const std::vector<std::string> models_;
  std::map<std::string, Json> known_models_;  // fields by name
  std::map<std::string, Json> defaults_;
  std::set<std::string> groups_;  // of the handled keys
};

fs::path file_of(const std::string& name, const fs::path& data_dir) {
  if (name.find('/') != std::string::npos || name.ends_with(kProgramExtension)) return name;
  const auto known = program_names(data_dir);
  if (!std::binary_search(known.begin(), known.end(), name)) {
    const auto near = spec::nearest(name, known);
    throw InputError(fmt::format("[program] --program {}: there is no such program{}; give a file, or one of: {}", name,
                                 near ? " (did you mean '" + *near + "'?)" : "", fmt::join(known, ", ")));
  }
  return data_dir / "workloads" / "programs" / (name + std::string(kProgramExtension));
}

}  // namespace

std::vector<std::string> program_names(const fs::path& data_dir) {
  std::vector<std::string> names;
  std::error_code error;
  const auto folder = data_dir / "workloads" / "programs";
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == kProgramExtension) names.push_back(entry.path().stem().string());
  }
  if (error) throw InputError("[data] " + folder.string() + ": cannot be listed: " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

void run_with_program(Expansion& matrix, const ProgramChoice& choice, const fs::path& data_dir) {
  const auto path = file_of(choice.program, data_dir);
  const auto document = YamlDocument::load(path, "program");
  std::error_code none;
  if (!choice.repo.empty() && !fs::is_directory(choice.repo, none)) {
    throw InputError("[program] --program-repo " + choice.repo.string() + ": there is no such folder");
  }
  const auto given = choice.repo.empty() ? std::string() : fs::canonical(choice.repo).string();
  const auto file = read_program_file(document, {.given = given, .fallback = fs::current_path().string()});
  ProgramCells program(file, path.filename().string(), data_dir);
  if (!file.program.repo.path.empty()) matrix.program_repo = file.program.repo;
  for (auto& cell : matrix.cells) {
    if (cell.run.program) {
      throw InputError("[program] --program " + choice.program + ": the matrix has a 'program' of its own");
    }
    program.replace_engine(cell);
  }
}

}  // namespace perfbench::harness
