// Finds models and hardware by name among the data files of perfbench, or models by path.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "workloads/spec/hardware.h"
#include "workloads/spec/model_file.h"

namespace perfbench::harness {

class ModelCatalog {
 public:
  // `data_dir` holds workloads/models and workloads/hardware (locate_data_dir of harness/app/installation.h).
  explicit ModelCatalog(std::filesystem::path data_dir);

  // Takes a name such as "llama-tiny" or a path, which contains a '/' or ends in ".yaml". A path is relative to
  // `base_dir`, the folder of the file that names it (empty for the working directory). If there is no such model,
  // throws SpecError with an empty pointer, because only the caller knows the place of the name, and suggests the
  // closest names. Throws InputError for a broken model file.
  spec::ModelFile model(const std::string& name_or_path, const std::filesystem::path& base_dir = {}) const;

  // Takes a name or an alias ("H100 80G SXM"), ignoring case. Throws as model().
  spec::HardwareSpec hardware(const std::string& name_or_alias) const;

  // Sorted.
  std::vector<std::string> model_names() const;
  std::vector<std::string> hardware_names() const;

 private:
  std::filesystem::path models_dir_;
  std::filesystem::path hardware_dir_;
};

}  // namespace perfbench::harness
