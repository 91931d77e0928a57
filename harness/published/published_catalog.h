// Published performance rows by name. A user names one "published:SYSTEM/ID", such as
// published:maxtext/llama2-7b-8xh100; the rows are the files of workloads/published, one per system.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/matrix/model_catalog.h"
#include "harness/published/published.h"

namespace perfbench::harness {

// Reads the data files; loads a system's rows when they are asked for.
class PublishedCatalog {
 public:
  // `data_dir` as of ModelCatalog.
  explicit PublishedCatalog(const std::filesystem::path& data_dir);

  // Sorted.
  std::vector<std::string> systems() const;

  // All rows of a system, in the order of its file. Throws SpecError with an empty pointer for an unknown system,
  // InputError for a broken file (unknown key, a model or device that the catalog lacks, an id given twice).
  std::vector<PublishedEntry> rows(const std::string& system) const;

  // One row by "SYSTEM/ID", with or without "published:" in front. Throws SpecError with an empty pointer and the
  // nearest names when there is none.
  PublishedEntry row(const std::string& name) const;

 private:
  std::filesystem::path folder_;
  ModelCatalog models_;
};

}  // namespace perfbench::harness
