// write_seeds FOLDER MATRIX...: the run.json of every cell of the matrices, as first inputs of run_json_fuzzer.
#include <filesystem>
#include <fstream>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/yaml_document.h"
#include "workloads/spec/run_spec_json.h"

int main(int argc, char** argv) {
  using namespace perfbench;
  if (argc < 3) return 3;
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  const harness::ModelCatalog catalog(PERFBENCH_SOURCE_DIR);
  for (int i = 2; i < argc; ++i) {
    const auto expansion = harness::expand(harness::YamlDocument::load(argv[i], "matrix"), catalog, {});
    for (const auto& cell : expansion.cells) {
      std::ofstream(folder / (cell.run_id.substr(0, 16) + ".json")) << spec::canonical_json(cell.run);
    }
  }
  return 0;
}
