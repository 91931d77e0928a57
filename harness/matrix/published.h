// Published performance rows (published.h), converted to perfbench's definitions.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/matrix/model_catalog.h"
#include "workloads/spec/flops.h"
#include "workloads/spec/hardware.h"
#include "workloads/spec/model_spec.h"
#include "workloads/spec/published_row.h"

namespace perfbench::harness {

struct PublishedEntry {
  std::string name;          // "maxtext/llama2-7b-8xh100"
  std::string system_title;  // "MaxText"
  std::string source;        // repository, path, commit
  spec::PublishedRow row;
  std::optional<spec::ModelSpec> model;
  std::optional<spec::HardwareSpec> hardware;
};

// Trained tokens per second and device: as printed, or from sequences_per_s, or from step_time_s and global_batch, or
// from the stated FLOP/s or MFU if their definition is known. nullopt if the row does not say enough.
std::optional<double> tokens_per_s_per_device(const PublishedEntry& entry);

// As printed, or computed from tokens_per_s_per_device and the batch.
std::optional<double> step_time_s(const PublishedEntry& entry);
std::optional<double> sequences_per_s(const PublishedEntry& entry);

// MFU of the row's throughput under a definition, relative to the peak of its device (mfu_peak_flops_per_s). nullopt
// without throughput, model or device, and for lora and evaluation, which do not run the backward pass of all weights.
std::optional<double> mfu_fraction(const PublishedEntry& entry, spec::FlopDefinition definition);

// Contradictions inside the row, found by arithmetic. It compares the step time and the rate with the batch, the mesh
// with the devices, the batch per device with the global batch, stated FLOP/s with the stated MFU, and the MFU with 1.
std::vector<std::string> contradictions(const PublishedEntry& entry);

// Published performance rows by name. A user names a row "published:SYSTEM/ID", such as
// published:maxtext/llama2-7b-8xh100. The rows are in the files of workloads/published, one for each system. A system's
// rows are loaded on first use.
class PublishedCatalog {
 public:
  // `data_dir` is that of ModelCatalog.
  explicit PublishedCatalog(const std::filesystem::path& data_dir);

  // Sorted.
  std::vector<std::string> systems() const;

  // All rows of a system, in the order of its file. Throws SpecError with an empty pointer for an unknown system.
  // Throws InputError for a broken file (an unknown key, a model or device that is not in the catalog, a repeated id).
  std::vector<PublishedEntry> rows(const std::string& system) const;

  // One row by "SYSTEM/ID", with or without the prefix "published:". If there is no such row, throws SpecError with an
  // empty pointer and suggests the closest names.
  PublishedEntry row(const std::string& name) const;

 private:
  std::filesystem::path folder_;
  ModelCatalog models_;
};

}  // namespace perfbench::harness
