#include "harness/published/published_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include "harness/matrix/yaml_document.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

using spec::Json;
using spec::SpecError;

constexpr const char* kTableExtension = ".yaml";
constexpr std::string_view kPrefix = "published:";

// A file: {system, title, tables: [{source, shared: {...}, rows: [{...}, ...]}, ...]}. `shared` holds what is equal in
// all rows of a table. The tables stay JSON until each row is put together.
struct PublishedFile {
  std::string system;
  std::string title;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{.name = "system", .help = "name of the file", .presence = spec::Presence::required}, self.system);
    f(Field{.name = "title", .help = "full name of the system", .presence = spec::Presence::required}, self.title);
  }
};

const Json& member(const Json& json, const char* key, const std::string& pointer) {
  if (!json.is_object()) throw SpecError(pointer, "found " + spec::shown(json) + " where a mapping is needed");
  const auto found = json.find(key);
  if (found == json.end()) throw SpecError(pointer, std::string("the key '") + key + "' is missing");
  return *found;
}

const Json& list(const Json& json, const char* key, const std::string& pointer) {
  const Json& value = member(json, key, pointer);
  if (!value.is_array()) throw SpecError(pointer + "/" + key, std::string("'") + key + "' must be a list");
  return value;
}

void allow_only(const Json& json, const std::vector<std::string>& keys, const std::string& pointer) {
  for (const auto& [key, value] : json.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      throw SpecError(pointer + "/" + key, "unknown key '" + key + "'" + spec::suggestion(key, keys));
    }
  }
}

class FileReader {
 public:
  FileReader(const ModelCatalog& catalog, const Json& root) : catalog_(catalog), root_(root) {}

  std::vector<PublishedEntry> read() {
    const Json& tables = list(root_, "tables", "");
    Json head = root_;
    head.erase("tables");
    file_ = spec::fields_from_json<PublishedFile>(head, spec::Missing::takes_default);
    for (std::size_t i = 0; i < tables.size(); ++i) read_table(tables[i], "/tables/" + std::to_string(i));
    return std::move(entries_);
  }

 private:
  void read_table(const Json& table, const std::string& pointer) {
    const Json& source = member(table, "source", pointer);
    if (!source.is_string()) throw SpecError(pointer + "/source", "'source' must be text");
    allow_only(table, {"source", "shared", "rows"}, pointer);
    const Json shared = table.value("shared", Json::object());
    spec::fields_from_json<spec::PublishedRow>(shared, spec::Missing::takes_default, pointer + "/shared");
    const Json& rows = list(table, "rows", pointer);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      read_row(rows[i], shared, pointer + "/rows/" + std::to_string(i), source.get<std::string>());
    }
  }

  void read_row(const Json& row, const Json& shared, const std::string& pointer, const std::string& source) {
    if (!row.is_object()) throw SpecError(pointer, "found " + spec::shown(row) + " where a mapping is needed");
    Json whole = shared;
    whole.update(row);
    PublishedEntry entry;
    entry.row = spec::fields_from_json<spec::PublishedRow>(whole, spec::Missing::takes_default, pointer);
    if (entry.row.id.empty()) throw SpecError(pointer, "a row needs an id");
    if (!ids_.insert(entry.row.id).second) throw SpecError(pointer, "the id '" + entry.row.id + "' is given twice");
    const auto& definition = entry.row.stated_definition;
    if (!definition.empty() && !spec::enum_value<spec::FlopDefinition>(definition)) {
      throw SpecError(pointer + "/stated_definition", "unknown FLOP definition '" + definition + "'");
    }
    entry.name = file_.system + "/" + entry.row.id;
    entry.system_title = file_.title;
    entry.source = source;
    look_up(entry, pointer);
    entries_.push_back(std::move(entry));
  }

  void look_up(PublishedEntry& entry, const std::string& pointer) {
    try {
      if (!entry.row.model.empty()) {
        const auto [found, fresh] = models_.try_emplace(entry.row.model);
        if (fresh) found->second = catalog_.model(entry.row.model).model;
        entry.model = found->second;
      }
      if (!entry.row.hardware.empty()) {
        const auto [found, fresh] = hardware_.try_emplace(entry.row.hardware);
        if (fresh) found->second = catalog_.hardware(entry.row.hardware);
        entry.hardware = found->second;
      }
    } catch (const SpecError& e) {
      throw SpecError(pointer, e.what());
    }
  }

  const ModelCatalog& catalog_;
  const Json& root_;
  PublishedFile file_;
  std::set<std::string> ids_;
  std::map<std::string, spec::ModelSpec> models_;
  std::map<std::string, spec::HardwareSpec> hardware_;
  std::vector<PublishedEntry> entries_;
};

std::string near_name(const std::string& word, const std::vector<std::string>& names) {
  const auto near = spec::nearest(word, names);
  return near ? " (did you mean '" + *near + "'?)" : "";
}

// As many as can be taken in.
std::string listed(std::vector<std::string> names) {
  constexpr std::size_t kShown = 30;
  const auto more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
}

}  // namespace

PublishedCatalog::PublishedCatalog(const std::filesystem::path& data_dir)
    : folder_(data_dir / "workloads" / "published"), models_(data_dir) {}

std::vector<std::string> PublishedCatalog::systems() const {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    if (entry.path().extension() == kTableExtension) names.push_back(entry.path().stem().string());
  }
  if (error) throw InputError("[published] " + folder_.string() + ": cannot be listed: " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<PublishedEntry> PublishedCatalog::rows(const std::string& system) const {
  const auto known = systems();
  if (!std::binary_search(known.begin(), known.end(), system)) {
    throw SpecError("", fmt::format("no rows are published by a system named '{}'{}; there are:\n  {}", system,
                                    near_name(system, known), fmt::join(known, ", ")));
  }
  const auto document = YamlDocument::load(folder_ / (system + kTableExtension), "published");
  try {
    return FileReader(models_, document.root()).read();
  } catch (const SpecError& e) {
    throw document.error(e);
  }
}

PublishedEntry PublishedCatalog::row(const std::string& name) const {
  const std::string plain = name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
  const auto system = plain.substr(0, plain.find('/'));
  std::vector<std::string> names;
  for (auto& entry : rows(system)) {
    if (entry.name == plain) return entry;
    names.push_back(entry.name);
  }
  const auto what = plain == system ? "names a system and no row of it: it must be published:SYSTEM/ID"
                                    : "there is no such row" + near_name(plain, names);
  if (plain != system) names = spec::nearest_first(plain, names);
  throw SpecError("", fmt::format("'{}': {}; {} has:\n  {}", name, what, system, listed(names)));
}

}  // namespace perfbench::harness
