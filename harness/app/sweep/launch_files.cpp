#include "harness/app/sweep/launch_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "harness/launch/site.h"
#include "harness/matrix/model_catalog.h"
#include "harness/system/input_error.h"
#include "workloads/spec/fields_json.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

// Finds out how the job of a cell of perfbench-engine is to select that cell.
class EngineCells {
 public:
  EngineCells(const LaunchFilesRequest& request, const ModelCatalog& catalog, fs::path data_dir)
      : matrix_(request.matrix), catalog_(catalog), data_dir_(std::move(data_dir)) {
    // An image has perfbench in its PATH. Nodes that share a file system have it, and the matrix, where they are here.
    known_as_.in_image = !request.file.image.empty();
    known_as_.perfbench = known_as_.in_image ? "perfbench" : fs::read_symlink("/proc/self/exe").string();
    const auto file = fs::weakly_canonical(matrix_file(matrix_.file, data_dir_));
    if (file.parent_path() == fs::weakly_canonical(data_dir_ / "matrices")) {
      known_as_.matrix = file.stem();
    } else if (!known_as_.in_image) {
      known_as_.matrix = file;
    } else {
      std::ifstream in(file, std::ios::binary);
      known_as_.text.assign(std::istreambuf_iterator<char>(in), {});
    }
  }

  EngineCell known_as(const Cell& cell) const {
    if (known_as_.in_image) require_nothing_of_here(cell);
    auto selected = matrix_;
    for (const auto& [axis, value] : cell.axes) selected.overrides.only.push_back(axis + "=" + value);
    const auto found = expand_matrix(selected, catalog_, data_dir_).cells;
    if (found.size() != 1 || found.front().run_id != cell.run_id) {
      throw InputError(
          fmt::format("[launch] {}: --only cannot select this cell alone, because a value has a comma or a "
                      "glob; give the values of its axes names",
                      shown_label(cell.label)));
    }
    auto out = known_as_;
    for (const auto& only : selected.overrides.only) out.words.push_back("--only=" + only);
    for (const auto& set : selected.overrides.set) out.words.push_back("--set=" + set);
    return out;
  }

 private:
  // An image has the files of perfbench and no others of this machine.
  void require_nothing_of_here(const Cell& cell) const {
    for (const auto* path : {&cell.run.data.path, &cell.run.evaluation.path, &cell.run.checkpoint.restore}) {
      if (path->empty()) continue;
      throw InputError(
          fmt::format("the cell reads {}, which the image does not have: leave --image out, or use "
                      "synthetic data",
                      *path));
    }
    const auto& model = cell.run.model;
    // A name in brackets has the fields that the matrix changes.
    const auto name = model.name.substr(0, model.name.find('['));
    const auto names = catalog_.model_names();
    const bool is_known = std::binary_search(names.begin(), names.end(), name);
    if (is_known && (name != model.name || json_of(catalog_.model(name).model) == json_of(model))) return;
    throw InputError(fmt::format("the model '{}' is in a file of its own, which the image does not have", model.name));
  }

  static spec::Json json_of(const spec::ModelSpec& model) { return spec::fields_to_json(model, spec::Written::whole); }

  MatrixOptions matrix_;
  const ModelCatalog& catalog_;
  fs::path data_dir_;
  EngineCell known_as_;
};

// A node of known hardware has a known number of devices.
void require_nodes_of(const Cell& cell, const ModelCatalog& catalog) {
  const auto& mesh = cell.run.mesh;
  const auto devices = cell.run.hardware == "host" ? 0 : catalog.hardware(cell.run.hardware).devices_per_node;
  if (devices == 0 || mesh.ici.size() <= devices) return;
  throw InputError(
      fmt::format("{} devices are inside a node, but a node of {} has {}: use dcn axes for devices on "
                  "several nodes",
                  mesh.ici.size(), cell.run.hardware, devices));
}

}  // namespace

LaunchFiles launch_files(const LaunchFilesRequest& request, const Installation& installation) {
  check_launch_file_request(request.file);
  const auto data_dir = installation.data_dir();
  const ModelCatalog catalog(data_dir);
  auto expansion = load_matrix(request.matrix, catalog, data_dir);
  const bool of_program = program_cell(expansion.cells) != nullptr;
  auto completed = request;
  completed.file = with_site(request.file, load_site(), of_program ? ImageHolds::program : ImageHolds::perfbench);
  const EngineCells engine_cells(completed, catalog, data_dir);
  const ProgramInJob in_job{.checkout = request.checkout, .has_image = !completed.file.image.empty()};
  LaunchFiles out;
  for (const auto& cell : expansion.cells) {
    // A program is known without a plan. The engine plans its own memory where it runs.
    const auto& reason = cell.excluded ? cell.excluded : cell.infeasible;
    if (reason) {
      out.refused.push_back(shown_label(cell.label) + ": " + *reason);
      continue;
    }
    try {
      require_nodes_of(cell, catalog);
      const auto work =
          cell.run.program ? work_of_program(cell, in_job) : work_of_engine(cell, engine_cells.known_as(cell));
      out.files.push_back(render_launch_file(work, completed.file));
    } catch (const InputError& e) {
      out.refused.push_back(shown_label(cell.label) + ": " + e.what());
    }
  }
  return out;
}

}  // namespace perfbench::harness
