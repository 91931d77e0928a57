#include "harness/app/runs/predicted_cells.h"

#include <fmt/format.h>

#include <utility>

#include "harness/app/runs/predictor_scores.h"
#include "harness/matrix/model_catalog.h"
#include "harness/predict/baseline_utilisation.h"
#include "harness/predict/planned_setup.h"
#include "harness/system/input_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

const predict::SoftwareStack& stack_named(const predict::PredictorData& data, const std::string& name) {
  if (const auto found = data.stacks.find(name); found != data.stacks.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [stack, counts] : data.stacks) known.push_back(stack);
  throw InputError(fmt::format("[predict] --stack: there is no stack '{}'{}", name, spec::suggestion(name, known)));
}

// The width of intervals, from all published rows.
double factor_of(const std::vector<predict::Sample>& published) {
  predict::Samples rows;
  for (const auto& sample : published) rows.push_back(&sample);
  return predict::interval_factor(predict::predict({}, rows));
}

class CellPredictor {
 public:
  CellPredictor(PredictedCells& out, const predict::SoftwareStack& stack, double factor)
      : out_(out), stack_(stack), factor_(factor) {}

  void add(const Cell& cell) {
    PredictedCell row{.label = shown_label(cell.label), .devices = cell.run.mesh.devices()};
    if (cell.excluded || cell.infeasible) {
      row.reason = cell.excluded ? *cell.excluded : *cell.infeasible;
    } else {
      predict(cell, row);
    }
    out_.cells.push_back(std::move(row));
  }

 private:
  void predict(const Cell& cell, PredictedCell& row) {
    auto setup = predict::setup_of_run(cell.run, stack_, out_.data);
    if (auto* reason = std::get_if<std::string>(&setup)) {
      row.reason = std::move(*reason);
      return;
    }
    const auto& found = std::get<predict::TrainingSetup>(setup);
    auto& sample = out_.samples.emplace_back();
    sample.published.name = cell.label;
    sample.published.family = stack_.name;
    sample.published.setup = found;
    sample.parts = predict::step_parts(found);
    auto made = predict::predict({}, {&sample});
    predict::set_intervals(made, factor_);
    row.prediction = made.front();
    const double step_s = row.prediction->time.total_s;
    row.tokens_per_s_per_device =
        static_cast<double>(cell.run.global_batch * cell.run.seq_len) / (static_cast<double>(row.devices) * step_s);
    row.mfu_fraction = predict::ideal_seconds(found, predict::UtilisationKind::mfu) / step_s;
  }

  PredictedCells& out_;
  const predict::SoftwareStack& stack_;
  const double factor_;
};

}  // namespace

PredictedCells predicted_cells(const MatrixOptions& matrix, const std::string& stack,
                               const std::filesystem::path& data_dir) {
  auto published = predictor_scores(data_dir, {});
  PredictedCells out;
  out.stack = stack;
  const double factor = factor_of(published.samples);
  out.data = std::move(published.data);
  const auto expansion = load_matrix(matrix, ModelCatalog(data_dir), data_dir);
  out.matrix = expansion.name;
  CellPredictor predictor(out, stack_named(out.data, stack), factor);
  for (const auto& cell : expansion.cells) predictor.add(cell);
  return out;
}

}  // namespace perfbench::harness
