#include "harness/matrix/program_file.h"

#include "harness/matrix/mistakes.h"
#include "harness/matrix/value_reader.h"
#include "harness/matrix/yaml_document.h"
#include "harness/system/input_error.h"
#include "harness/system/place_names.h"
#include "harness/system/text_template.h"

namespace perfbench::harness {
namespace {

using spec::Json;

class ProgramFileReading {
 public:
  ProgramFileReading(const YamlDocument& document, const RepositoryChoice& repository, Mistakes& mistakes)
      : document_(document),
        root_(document.root()),
        repository_(repository),
        mistakes_(mistakes),
        read_(document, mistakes, no_parts_) {}

  ProgramFile read() {
    read_.check_keys("", root_, {"name", "title", "sources", "program", "values", "rules"});
    mistakes_.note({"/name"}, [&] { out_.name = read_.required_text("", root_, "name", "the program's short name"); });
    mistakes_.note({"/title"},
                   [&] { out_.title = read_.required_text("", root_, "title", "the program's full name"); });
    mistakes_.note({"/sources"}, [&] { read_sources(); });
    mistakes_.note({"/program"}, [&] { read_command(); });
    if (root_.contains("values")) mistakes_.note({"/values"}, [&] { read_values(root_["values"]); });
    if (root_.contains("rules")) mistakes_.note({"/rules"}, [&] { read_rules(root_["rules"]); });
    return std::move(out_);
  }

 private:
  std::string word(const std::string& pointer, const Json& json) const {
    if (json.is_structured() || json.is_null()) {
      read_.fail(pointer, "found " + spec::shown(json) + " where a word is needed");
    }
    return plain_text(json);
  }

  std::vector<std::string> words(const std::string& pointer, const Json& json) const {
    std::vector<std::string> out;
    const auto& list = read_.list(pointer, json, "words");
    for (std::size_t i = 0; i < list.size(); ++i) out.push_back(word(child(pointer, i), list[i]));
    return out;
  }

  void read_sources() {
    if (!root_.contains("sources")) {
      read_.fail("", "the key 'sources' (the documents that say what the command means) is missing");
    }
    out_.sources = words("/sources", root_["sources"]);
    if (out_.sources.empty()) read_.fail("/sources", "'sources' names no document");
  }

  void read_command() {
    if (!root_.contains("program")) read_.fail("", "the key 'program' (the command and its reader) is missing");
    out_.program = read_program(document_, "/program", root_["program"], repository_);
    if (root_["program"].contains("steps")) {
      read_.fail("/program/steps", "'steps' is a key of the run; use it as {steps} in the command");
    }
    for (const auto& use : out_.program.used) {
      mistakes_.note({use.second}, [&] { handle(use.second, use.first); });
    }
  }

  void handle(const std::string& pointer, const std::string& name) {
    const auto key = find_key(name);
    if (!key) read_.fail(pointer, "{" + name + "} is not a key of a run" + key_suggestion(name, {}));
    if (key->kind == KeyKind::repeats) read_.fail(pointer, "perfbench repeats the run; the program cannot know it");
    if (key->kind != KeyKind::derived) out_.handled.insert(is_batch_key(key->name) ? "global_batch" : key->name);
    if (key->name == "batch_tokens") out_.handled.insert({"global_batch", "seq_len"});
    if (key->name == "total_dp") out_.handled.insert({"mesh.ici.dp", "mesh.dcn.dp"});
    if (key->name == "total_fsdp") out_.handled.insert({"mesh.ici.fsdp", "mesh.dcn.fsdp"});
    if (key->name.starts_with("microbatch")) out_.handled.insert({"global_batch", "grad_accum"});
  }

  void handle_templates(const std::string& pointer, const std::string& text) {
    try {
      for (const auto& name : template_names(text)) {
        if (is_place_name(name)) {
          if (name == "repo" && out_.program.repo.path.empty()) out_.program.repo.path = repository_.fallback;
          continue;
        }
        const auto key = find_key(name);
        if (key && key->kind == KeyKind::group) read_.fail(pointer, "{" + name + "} is a group of keys");
        handle(pointer, name);
      }
    } catch (const TemplateError& e) {
      read_.fail(pointer, e.what());
    }
  }

  void read_values(const Json& json) {
    read_.mapping("/values", json, "keys and their values");
    for (const auto& name : document_.keys("/values")) {
      const auto at = child("/values", name);
      mistakes_.note({at}, [&] { read_table(at, name, json[name]); });
    }
  }

  void read_table(const std::string& pointer, const std::string& name, const Json& json) {
    const auto key = find_key(name);
    if (!key || key->kind == KeyKind::group) {
      read_.fail(pointer, "'" + name + "' is not a key of a run" + key_suggestion(name, {}));
    }
    read_.mapping(pointer, json, "values and what the program calls them");
    if (json.empty()) read_.fail(pointer, "'" + name + "' has no values; a rule with a reason refuses a key");
    handle(pointer, name);
    auto& table = out_.values[key->name];
    for (const auto& value : document_.keys(pointer)) {
      const auto at = child(pointer, value);
      mistakes_.note({at}, [&, &name = value] { table[name] = word(at, json[name]); });
    }
  }

  void read_rules(const Json& json) {
    read_.list("/rules", json, "rules");
    for (std::size_t i = 0; i < json.size(); ++i) {
      const auto at = child("/rules", i);
      mistakes_.note({at}, [&] { read_rule(at, json[i]); });
    }
  }

  void read_rule(const std::string& pointer, const Json& json) {
    read_.check_keys(pointer, json, {"when", "command", "env", "only", "reason"});
    ProgramRule rule;
    if (json.contains("when")) rule.when = conditions(child(pointer, "when"), json["when"]);
    if (json.contains("only")) rule.only = conditions(child(pointer, "only"), json["only"]);
    if (json.contains("reason")) rule.reason = read_.required_text(pointer, json, "reason", "why it cannot run");
    if (json.contains("command")) {
      const auto at = child(pointer, "command");
      rule.command = words(at, json["command"]);
      for (std::size_t i = 0; i < rule.command.size(); ++i) handle_templates(child(at, i), rule.command[i]);
    }
    if (json.contains("env")) read_env(child(pointer, "env"), json["env"], rule);
    const bool adds = !rule.command.empty() || !rule.env.empty();
    if (!rule.only.empty() && rule.reason.empty()) {
      read_.fail(pointer, "'only' refuses runs: add the 'reason'");
    }
    if (adds == !rule.reason.empty()) {
      read_.fail(pointer, "a rule either adds to 'command' or 'env', or refuses runs with a 'reason'");
    }
    out_.rules.push_back(std::move(rule));
  }

  void read_env(const std::string& pointer, const Json& json, ProgramRule& rule) {
    read_.mapping(pointer, json, "variables and values");
    for (const auto& name : document_.keys(pointer)) {
      const auto at = child(pointer, name);
      rule.env[name] = word(at, json[name]);
      handle_templates(at, rule.env[name]);
    }
  }

  When conditions(const std::string& pointer, const Json& json) {
    auto out = read_.when(pointer, json);
    for (const auto& condition : out) {
      if (condition.name != "model")
        handle(pointer, condition.name);  // a name: it tells the program no field of the model
    }
    return out;
  }

  const YamlDocument& document_;
  const Json& root_;
  const RepositoryChoice& repository_;
  Mistakes& mistakes_;
  const MatrixParts no_parts_;
  ValueReader read_;
  ProgramFile out_;
};

}  // namespace

ProgramFile read_program_file(const YamlDocument& document, const RepositoryChoice& repository) {
  Mistakes mistakes(document);
  try {
    auto out = ProgramFileReading(document, repository, mistakes).read();
    mistakes.throw_if_any();
    return out;
  } catch (const TooManyMistakes&) {
    mistakes.throw_if_any();
    throw;
  }
}

}  // namespace perfbench::harness
