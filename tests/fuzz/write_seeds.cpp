// write_seeds FOLDER MATRIX...: first inputs of the fuzzers. FOLDER/run_json has the run.json of every cell of the
// matrices, FOLDER/words the examples in the commands' help, FOLDER/archive an export without its checksum and the
// records of one, FOLDER/readers a step for each reader of other programs.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/yaml_document.h"
#include "harness/readers/reader.h"
#include "harness/store/archive/archive.h"
#include "harness/store/archive/transfer.h"
#include "harness/store/database.h"
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

// An empty export, one with every kind of record, and its records alone.
void write_export(const fs::path& folder) {
  fs::create_directories(folder);
  const auto old = fs::path(PERFBENCH_SOURCE_DIR) / "tests/harness/transfer_data/version2.perfbench";
  const auto db = folder / "a.db";
  const auto whole = folder / "whole";
  { harness::open_database(db); }
  harness::export_runs({.db = db, .file = whole, .perfbench_version = "0.1.0"});
  std::ifstream in(whole, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::ofstream(folder / "empty", std::ios::binary) << bytes.substr(0, bytes.rfind("sha256 "));
  harness::import_runs(db, old);
  harness::export_runs({.db = db, .file = whole, .perfbench_version = "0.1.0"});
  {
    std::ofstream all(folder / "all", std::ios::binary);
    harness::CheckedArchive(whole).unpack(0, [&](std::string_view bytes) { all << bytes; });
  }
  std::ifstream records(folder / "all");
  std::map<std::string, std::string> first;  // one of each kind, with the lines of one attempt
  for (std::string line; std::getline(records, line);) first.try_emplace(line.substr(0, line.find(':')), line + "\n");
  std::ofstream seed(folder / "records", std::ios::binary);
  for (const auto* tag :
       {"sweep", "attempt", "run", "environment", "result", "step", "comparison", "alert", "selftest_result"}) {
    seed << first[std::string("{\"") + tag + "\""];
  }
  for (const auto& file : {db, whole, folder / "all"}) fs::remove(file);
}

// The first byte chooses the reader; readers.dict has the words of their records.
void write_reader_seeds(const fs::path& folder) {
  fs::create_directories(folder);
  for (std::size_t i = 0; i <= readers::all_readers().size(); ++i) {
    std::ofstream(folder / std::to_string(i), std::ios::binary)
        << static_cast<char>(i) << '\3' << "{\"step\": 1, \"loss\": 2.5, \"time\": 3}\nstep 2 reward=1\n";
  }
}

// The first byte chooses the format; benchmarks.dict has the words of the formats.
void write_benchmark_seeds(const fs::path& folder) {
  const char* const examples[] = {
      R"({"context": {"num_cpus": 8}, "benchmarks": [{"name": "a", "run_type": "iteration", "real_time": 2.5,
          "cpu_time": NaN, "time_unit": "us"}]})",
      R"({"devices": [{"id": 0, "name": "G"}], "benchmarks": [{"name": "c", "states": [{"device": 0, "axis_values": null,
          "summaries": [{"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "value": "3e-5"}]}]}]}]})",
      R"({"results": [{"command": "a", "times": [0.1, 0.3], "exit_codes": [0, null], "parameters": {"n": "1"}}]})",
      R"({"machine_info": {"cpu": {"count": 2}}, "benchmarks": [{"fullname": "t", "stats": {"median": 2, "data": [1]}}],
          "datetime": "2026-11-27T12:00:00.5+00:00"})",
      R"({"result_columns": ["result", "params", "version"], "results": {"b.time_x": [[1.5, null, NaN, 4.5],
          [["1", "2"], ["'a'", "'b'"]], "v"]}, "date": 1764201600000, "version": 2})",
      R"(# size count type redop root time algbw busbw #wrong time algbw busbw #wrong
8 2 float sum -1 5.0 0.1 0.2 0 6.0 0.1 0.2 N/A
)"};
  fs::create_directories(folder);
  for (std::size_t i = 0; i < std::size(examples); ++i) {
    std::ofstream(folder / std::to_string(i), std::ios::binary) << static_cast<char>(i) << '\3' << examples[i];
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 3;
  const fs::path seeds = argv[1];
  write_words(seeds / "words");
  write_export(seeds / "archive");
  write_reader_seeds(seeds / "readers");
  write_benchmark_seeds(seeds / "benchmarks");
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
