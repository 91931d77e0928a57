// write_seeds FOLDER MATRIX...: first inputs of the fuzzers. FOLDER/run_json has the run.json of every cell of the
// matrices, FOLDER/words what the help of the commands shows, FOLDER/archive an export without its checksum.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/yaml_document.h"
#include "harness/store/database.h"
#include "harness/transfer/archive.h"
#include "workloads/spec/run_spec_json.h"

namespace {

namespace fs = std::filesystem;
using namespace perfbench;

void write_words(const fs::path& folder) {
  const char* const examples[] = {"current",
                                  "HEAD~1",
                                  "set:attention=flash,remat=none",
                                  "inject:slow:span=matmul,fraction=1",
                                  "slow:span=ops,fraction=0.2,us=100",
                                  "/opt/perfbench",
                                  "step_time_s=0.03"};
  fs::create_directories(folder);
  int number = 0;
  for (const auto* words : examples) std::ofstream(folder / std::to_string(++number)) << words;
}

void write_export(const fs::path& folder) {
  fs::create_directories(folder);
  const auto db = folder / "empty.db";
  const auto whole = folder / "whole";
  { harness::open_database(db); }
  harness::write_archive({.schema_version = 1, .attempts = 0, .perfbench_version = "0.1.0"}, db, whole);
  std::ifstream in(whole, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::ofstream(folder / "empty", std::ios::binary) << bytes.substr(0, bytes.rfind("sha256 "));
  for (const auto& file : {db, whole}) fs::remove(file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 3;
  const fs::path seeds = argv[1];
  write_words(seeds / "words");
  write_export(seeds / "archive");
  fs::create_directories(seeds / "run_json");
  const harness::ModelCatalog catalog(PERFBENCH_SOURCE_DIR);
  for (int i = 2; i < argc; ++i) {
    const auto expansion = harness::expand(harness::YamlDocument::load(argv[i], "matrix"), catalog, {});
    for (const auto& cell : expansion.cells) {
      std::ofstream(seeds / "run_json" / (cell.run_id.substr(0, 16) + ".json")) << spec::canonical_json(cell.run);
    }
  }
  return 0;
}
