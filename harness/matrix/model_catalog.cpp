#include "harness/matrix/model_catalog.h"

#include <algorithm>
#include <cctype>
#include <system_error>

#include "harness/matrix/yaml_document.h"
#include "harness/system/input_error.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/suggest.h"
#include "workloads/spec/validate.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExtension = ".yaml";

bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(kExtension);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == kExtension) names.push_back(entry.path().stem().string());
  }
  if (error) throw InputError("[data] " + folder.string() + ": cannot be listed: " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

// Reads a whole data file by its field list, then checks it. Every mistake gets its place in the file.
template <class T, class Check>
T read_data_file(const fs::path& file, const std::string& kind, Check check) {
  const auto document = YamlDocument::load(file, kind);
  try {
    T value = spec::fields_from_json<T>(document.root(), spec::Missing::takes_default);
    check(value);
    return value;
  } catch (const spec::SpecError& e) {
    throw document.error(e);
  }
}

void check_model(const spec::ModelFile& file) {
  try {
    spec::validate(file.model);
  } catch (const spec::SpecError& e) {
    throw spec::SpecError("/model" + e.pointer(), e.what());
  }
}

spec::HardwareSpec read_hardware(const fs::path& file) {
  return read_data_file<spec::HardwareSpec>(file, "hardware", [](const spec::HardwareSpec&) {});
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

ModelCatalog::ModelCatalog(fs::path data_dir)
    : models_dir_(data_dir / "workloads" / "models"), hardware_dir_(data_dir / "workloads" / "hardware") {}

std::vector<std::string> ModelCatalog::model_names() const {
  return names_in(models_dir_);
}

std::vector<std::string> ModelCatalog::hardware_names() const {
  return names_in(hardware_dir_);
}

spec::ModelFile ModelCatalog::model(const std::string& name_or_path, const fs::path& base_dir) const {
  if (is_path(name_or_path)) {
    const fs::path file = base_dir / name_or_path;
    if (const auto problem = path_problem(file, PathIs::file)) {
      throw spec::SpecError("", "the model file '" + file.string() + "': " + *problem);
    }
    if (!fs::exists(file)) throw spec::SpecError("", "there is no model file " + file.string());
    return read_data_file<spec::ModelFile>(file, "model", check_model);
  }
  const auto names = model_names();
  if (!std::binary_search(names.begin(), names.end(), name_or_path)) {
    throw spec::SpecError("", "unknown model '" + name_or_path + "'" + spec::suggestion(name_or_path, names) +
                                  "; models are the files of " + models_dir_.string());
  }
  return read_data_file<spec::ModelFile>(models_dir_ / (name_or_path + kExtension), "model", check_model);
}

spec::HardwareSpec ModelCatalog::hardware(const std::string& name_or_alias) const {
  const std::string wanted = lower(name_or_alias);
  const auto names = hardware_names();
  std::vector<std::string> known;
  for (const auto& name : names) {
    auto hardware = read_hardware(hardware_dir_ / (name + kExtension));
    if (wanted == lower(hardware.name)) return hardware;
    known.push_back(hardware.name);
    for (const auto& alias : hardware.aliases) {
      if (wanted == lower(alias)) return hardware;
      known.push_back(alias);
    }
  }
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "" : ", ") + name;
  const auto near = spec::nearest(name_or_alias, known);
  throw spec::SpecError("", "unknown hardware '" + name_or_alias + "'" +
                                (near ? " (did you mean '" + *near + "'?)" : " (one of: " + all + ")"));
}

}  // namespace perfbench::harness
