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

  // A name such as "llama-tiny", or a path: with a '/' or ending in ".yaml", relative to `base_dir` (the folder of the
  // file that names it; empty for the working directory). Throws SpecError with an empty pointer when there is no such
  // model, with the nearest names: the caller knows where it was asked for. Throws InputError for a broken model file.
  spec::ModelFile model(const std::string& name_or_path, const std::filesystem::path& base_dir = {}) const;

  // By name or by any alias ("H100 80G SXM"), upper and lower case alike. Throws as model().
  spec::HardwareSpec hardware(const std::string& name_or_alias) const;

  // Sorted.
  std::vector<std::string> model_names() const;
  std::vector<std::string> hardware_names() const;

 private:
  std::filesystem::path models_dir_;
  std::filesystem::path hardware_dir_;
};

}  // namespace perfbench::harness
