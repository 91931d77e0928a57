// Every row about training that a reference system prints is a cell of its matrix, with the same numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/matrix/matrix.h"
#include "harness/matrix/published.h"
#include "harness/matrix/yaml_document.h"
#include "workloads/spec/remat_policy.h"

namespace perfbench::harness {
namespace {

struct ReferenceTable {
  const char* matrix;
  const char* system;
  const char* source;  // a part of its name, because an earlier version of a table has another one
  const char* models;  // the beginning of the names
  const char* hardware;
  std::size_t rows;
};

const std::vector<ReferenceTable>& tables() {
  static const std::vector<ReferenceTable> kTables{
      {"maxtext", "maxtext", "docs/frameworks/maxtext/README.md", "", "", 1},
      {"pax_gpt", "pax", "values first at commit 000564295", "pax-gpt-", "", 11},
      {"pax_glam", "pax", "projects/pax/README.md", "pax-glam-", "", 2},
      {"pax_llama_finetune", "pax", "projects/pax/README.md", "pax-llama2-", "", 8},
      {"seqax", "seqax", "MatX-inc/seqax:README.md", "", "", 7},
      {"torchprime", "torchprime", "torchprime:README.md", "", "", 6},
      {"axlearn_fuji", "axlearn", "fuji.py", "", "h100", 6},
  };
  return kTables;
}

std::vector<spec::PublishedRow> rows_of(const ReferenceTable& table) {
  static const PublishedCatalog kCatalog(PERFBENCH_SOURCE_DIR);
  std::vector<spec::PublishedRow> rows;
  for (const auto& entry : kCatalog.rows(table.system)) {
    const auto& row = entry.row;
    if (entry.source.find(table.source) == std::string::npos || !row.model.starts_with(table.models)) continue;
    if (!row.hardware.starts_with(table.hardware)) continue;
    rows.push_back(row);
  }
  return rows;
}

std::vector<Cell> cells_of(const std::string& matrix) {
  const ModelCatalog catalog(PERFBENCH_SOURCE_DIR);
  const auto file = std::filesystem::path(PERFBENCH_SOURCE_DIR) / "matrices" / (matrix + ".yaml");
  auto cells = expand(YamlDocument::load(file, "matrix"), catalog, {}).cells;
  std::erase_if(cells, [](const Cell& cell) { return cell.excluded.has_value(); });
  return cells;
}

// The values that a system's own policy keeps, by our names: the comments of the matrices explain it.
spec::RematPlan plan_of(const std::string& printed) {
  using enum spec::SavePlace;
  static const std::map<std::string, spec::RunSpec> kNames = [] {
    const auto custom = [](std::map<std::string, spec::SavePlace> places) {
      spec::RunSpec run;
      run.remat = spec::kCustomRemat;
      run.remat_custom = std::move(places);
      return run;
    };
    const auto policy = [](const char* ours) {
      spec::RunSpec run;
      run.remat = ours;
      return run;
    };
    return std::map<std::string, spec::RunSpec>{{"save_dot_with_no_batch_dims", policy("minimal")},
                                                {"llama-scan", policy("full")},
                                                {"mixtral", policy("full")},
                                                {"llama-scan-offload", custom({{"layer_input", offload}})},
                                                {"seqax", custom({{"layer_input", device},
                                                                  {"norm_statistics", device},
                                                                  {"query_proj", device},
                                                                  {"key_proj", device},
                                                                  {"value_proj", device},
                                                                  {"out_proj", device},
                                                                  {"mlpwi_0", device},
                                                                  {"mlpwi_1", device}})}};
  }();
  const auto known = kNames.find(printed);
  if (known != kNames.end()) return spec::resolve_remat(known->second);
  spec::RunSpec run;
  run.remat = printed;
  return spec::resolve_remat(run);
}

// The differences between the row and the cell; empty if there are none. Facts that the source does not state never
// differ.
std::string difference(const spec::PublishedRow& row, const spec::RunSpec& run) {
  std::string out;
  const auto hold = [&out](const char* what, bool equal) {
    if (!equal) out += std::string(out.empty() ? "" : ", ") + what;
  };
  const auto hold_number = [&hold](const char* what, double printed, double ours) {
    hold(what, printed == 0 || printed == ours);
  };
  hold("model", row.model == run.model.name);
  hold("task", row.task == run.task);
  hold("lora", !row.lora.used() || (row.lora.rank == run.lora.rank && row.lora.targets == run.lora.targets));
  // TPUs are planned as the available GPUs.
  hold("hardware", row.hardware.empty() || row.hardware.starts_with("tpu") || row.hardware == run.hardware);
  hold("precision", row.precision == run.precision);
  hold_number("devices", static_cast<double>(row.devices), static_cast<double>(run.mesh.devices()));
  hold_number("dp", static_cast<double>(row.dp), static_cast<double>(run.mesh.dp()));
  hold_number("fsdp", static_cast<double>(row.fsdp), static_cast<double>(run.mesh.fsdp()));
  hold_number("tp", static_cast<double>(row.tp), static_cast<double>(run.mesh.tp()));
  hold_number("global_batch", static_cast<double>(row.global_batch), static_cast<double>(run.global_batch));
  hold_number("batch_per_device", row.batch_per_device,
              static_cast<double>(run.global_batch) / static_cast<double>(run.mesh.devices()));
  hold_number("seq_len", static_cast<double>(row.seq_len), static_cast<double>(run.seq_len));
  hold("attention", row.attention.empty() || row.attention == spec::enum_name(run.attention));
  hold("remat", row.remat.empty() || plan_of(row.remat) == spec::resolve_remat(run));
  hold("dropout", row.dropout == run.dropout);
  hold("scan", row.scan.empty() || (row.scan == "on") == run.scan);
  return out;
}

TEST(MatrixPublished, EveryRowOfATableIsACellOfItsMatrix) {
  for (const auto& table : tables()) {
    const auto cells = cells_of(table.matrix);
    const auto rows = rows_of(table);
    EXPECT_EQ(rows.size(), table.rows) << table.matrix;
    for (const auto& row : rows) {
      std::string nearest;
      bool found = false;
      for (const auto& cell : cells) {
        const auto found_otherwise = difference(row, cell.run);
        found = found || found_otherwise.empty();
        if (nearest.empty() || found_otherwise.size() < nearest.size()) nearest = found_otherwise;
      }
      EXPECT_TRUE(found) << table.matrix << " has no cell of " << row.id << "; the nearest differs in " << nearest;
    }
  }
}

// MAX_STEPS at the printed speed. A speed with two decimals, of at least 20, has an error of up to 0.025 %; the days
// have an error of half their last digit.
TEST(MatrixPublished, TrainingsTakeTheDaysThatPaxPrints) {
  const ReferenceTable table{"pax_gpt", "pax", "values first at commit 000564295", "pax-gpt-", "", 0};
  constexpr double kSecondsOfADay = 86400;
  std::size_t compared = 0;
  const auto cells = cells_of(table.matrix);
  for (const auto& row : rows_of(table)) {
    if (row.estimated_days == 0) continue;
    const auto cell =
        std::find_if(cells.begin(), cells.end(), [&](const Cell& c) { return difference(row, c.run).empty(); });
    ASSERT_NE(cell, cells.end()) << row.id;
    const double sequences = static_cast<double>(cell->run.training_steps * cell->run.global_batch);
    const double days = sequences / row.sequences_per_s / kSecondsOfADay;
    EXPECT_NEAR(row.estimated_days, days, 0.00025 * days + 0.005) << row.id;
    ++compared;
  }
  EXPECT_EQ(compared, 10U);
}

}  // namespace
}  // namespace perfbench::harness
