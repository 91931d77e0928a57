#include "harness/matrix/read_program.h"

#include <algorithm>
#include <filesystem>

#include "harness/matrix/value_reader.h"
#include "harness/matrix/yaml_document.h"
#include "harness/readers/reader.h"
#include "harness/system/input_error.h"
#include "harness/system/place_names.h"
#include "harness/system/text_template.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using spec::Json;

// The fields of ProgramSpec that perfbench fills in itself.
constexpr std::array<std::string_view, 3> kOwnFields{"version", "work", "facts"};

std::vector<std::string> known_keys() {
  auto names = spec::field_names<spec::ProgramSpec>();
  std::erase_if(names, [](const auto& name) {
    return std::find(kOwnFields.begin(), kOwnFields.end(), name) != kOwnFields.end();
  });
  names.emplace_back("repo");
  return names;
}

class ProgramReading {
 public:
  ProgramReading(const YamlDocument& document, std::string pointer, const RepositoryChoice& repository)
      : document_(document), pointer_(std::move(pointer)), repository_(repository) {}

  ProgramPart read(const Json& json) {
    check_keys(json);
    read_fields(json);
    if (json.contains("repo")) read_repo(json["repo"]);
    if (!repository_.given.empty()) out_.repo.path = repository_.given;
    if (out_.spec.workdir.empty()) out_.spec.workdir = out_.repo.path.empty() ? "{cwd}" : "{repo}";
    check_readers();
    complete_ranks();
    check_container();
    find_templates();
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& pointer, const std::string& message) const {
    throw document_.error(pointer, message);
  }
  std::string at(std::string_view key) const { return child(pointer_, key); }

  void check_keys(const Json& json) const {
    if (!json.is_object()) {
      fail(pointer_, "found " + spec::shown(json) + " where a mapping with the program's command is needed");
    }
    const auto known = known_keys();
    for (const auto& key : document_.keys(pointer_)) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      fail(at(key), "unknown key '" + key + "'" +
                        (key == "work" ? ": 'work' stands beside 'program'" : spec::suggestion(key, known)));
    }
  }

  void read_fields(Json json) {
    json.erase("repo");
    json.erase("steps");  // a key of a run: axes may change it
    // A number of ranks is written as a number, or as a template.
    if (const auto count = Json::json_pointer("/ranks/count");
        json.contains(count) && json[count].is_number_integer()) {
      json[count] = json[count].dump();
    }
    try {
      out_.spec = spec::fields_from_json<spec::ProgramSpec>(json, spec::Missing::takes_default);
    } catch (const spec::SpecError& e) {
      throw document_.error(e, pointer_);
    }
    if (out_.spec.command.empty())
      fail(at("command"), "the command is empty: it is a list of a program and its arguments");
    for (const auto& [name, metric] : out_.spec.metrics) {
      if (metric.regex.empty() != metric.key.empty()) continue;
      fail(child(at("metrics"), name), "metric '" + name + "' needs either a regex or a key");
    }
  }

  // A relative path is relative to the matrix.
  void read_repo(const Json& json) {
    const auto pointer = at("repo");
    const bool has_path = json.is_object() && json.contains("path") && json["path"].is_string();
    if (!has_path || json.size() != (json.contains("build") ? 2U : 1U)) {
      fail(pointer,
           "found " + spec::shown(json) + " where {path: FOLDER} or {path: FOLDER, build: [COMMAND]} is needed");
    }
    if (json.contains("build")) read_build(child(pointer, "build"), json["build"]);
    const auto path = fs::path(document_.file()).parent_path() / json["path"].get<std::string>();
    std::error_code none;
    if (!fs::is_directory(path, none))
      fail(child(pointer, "path"), path.string() + " is not a folder; name the program's repository");
    out_.repo.path = fs::canonical(path).string();
  }

  void read_build(const std::string& pointer, const Json& json) {
    const auto is_command = [](const Json& command) {
      return command.is_array() && !command.empty() &&
             std::all_of(command.begin(), command.end(), [](const Json& word) { return word.is_string(); });
    };
    if (!json.is_array() || !std::all_of(json.begin(), json.end(), is_command)) {
      fail(pointer, "found " + spec::shown(json) +
                        " where a list of commands is needed, each a list of a program and its arguments");
    }
    out_.repo.build = json.get<std::vector<std::vector<std::string>>>();
  }

  void check_readers() const {
    const auto checked = [&](const std::string& pointer, const auto& check) {
      try {
        check();
      } catch (const readers::ReaderError& e) {
        fail(pointer, e.what());
      }
    };
    const auto& program = out_.spec;
    if (!program.reader.empty()) checked(at("reader"), [&] { readers::reader_info(program.reader); });
    for (std::size_t i = 0; i < program.files.size(); ++i) {
      checked(child(child(at("files"), i), "format"), [&] { readers::reader_info(program.files[i].format); });
    }
    checked(at("metrics"), [&] { readers::make_declared_reader({program.metrics, {}}, [](const spec::Sample&) {}); });
  }

  void complete_ranks() {
    auto& ranks = out_.spec.ranks;
    const bool starts_itself = ranks.launched_by == spec::LaunchedBy::program;
    if (starts_itself && !ranks.count.empty()) {
      fail(child(at("ranks"), "count"), "only ranks that mpirun or srun launches are counted: add 'launched_by'");
    }
    if (!starts_itself && ranks.count.empty()) ranks.count = "{devices}";
    if (!starts_itself && out_.spec.turns) {
      fail(at("turns"), "ranks that mpirun or srun launches cannot take turns: leave out 'turns' or 'ranks'");
    }
  }

  void check_container() const {
    const auto& program = out_.spec;
    const auto& container = program.container;
    const auto pointer = at("container");
    if (container.image.empty()) {
      if (!container.options.empty() || container.runtime != spec::ContainerRuntime::podman) {
        fail(pointer, "a container needs an image: add 'image', such as 'image: localhost/trainer:1'");
      }
      return;
    }
    if (program.ranks.launched_by != spec::LaunchedBy::program) {
      fail(pointer,
           "ranks that mpirun or srun launches do not run in a container: leave out 'ranks', and let the "
           "command start its processes inside, as torchrun does");
    }
    if (program.turns) fail(at("turns"), "a program in a container cannot take turns: leave out 'turns'");
  }

  void find_templates() {
    const auto& program = out_.spec;
    for (std::size_t i = 0; i < program.command.size(); ++i) take(child(at("command"), i), program.command[i]);
    for (const auto& [name, value] : program.env) take(child(at("env"), name), value);
    for (std::size_t i = 0; i < program.files.size(); ++i) {
      take(child(child(at("files"), i), "path"), program.files[i].path);
    }
    take(at("workdir"), program.workdir);
    take(child(at("ranks"), "count"), program.ranks.count);
    const auto& container = program.container;
    take(child(at("container"), "image"), container.image);
    for (std::size_t i = 0; i < container.options.size(); ++i) {
      take(child(child(at("container"), "options"), i), container.options[i]);
    }
  }

  void take(const std::string& pointer, const std::string& text) {
    try {
      for (const auto& name : template_names(text)) take_name(pointer, name);
    } catch (const TemplateError& e) {
      fail(pointer, e.what());
    }
  }

  void take_name(const std::string& pointer, const std::string& name) {
    if (is_place_name(name)) {
      if (name == "repo" && out_.repo.path.empty()) out_.repo.path = repository_.fallback;
      if (name == "repo" && out_.repo.path.empty()) fail(pointer, "{repo} has no value: add 'repo: {path: FOLDER}'");
      return;
    }
    if (!out_.used.emplace(name, pointer).second) return;
    const auto key = find_key(name);
    if (!key) out_.free_keys.push_back(name);
    if (key && key->kind == KeyKind::group) {
      fail(pointer, "{" + name + "} is a group of keys; name one of them, such as {fsdp}");
    }
  }

  const YamlDocument& document_;
  const std::string pointer_;
  const RepositoryChoice& repository_;
  ProgramPart out_;
};

}  // namespace

ProgramPart read_program(const YamlDocument& document, const std::string& pointer, const Json& json,
                         const RepositoryChoice& repository) {
  return ProgramReading(document, pointer, repository).read(json);
}

}  // namespace perfbench::harness
