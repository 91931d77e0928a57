#include "harness/app/runs/predictor_scores.h"

#include <utility>

#include "harness/matrix/model_catalog.h"
#include "harness/matrix/published.h"

namespace perfbench::harness {

PredictorScores predictor_scores(const std::filesystem::path& data_dir,
                                 const std::vector<predict::ScoreSplit>& splits) {
  const PublishedCatalog catalog(data_dir);
  std::vector<PublishedEntry> entries;
  for (const auto& system : catalog.systems()) {
    for (auto& entry : catalog.rows(system)) entries.push_back(std::move(entry));
  }
  PredictorScores out;
  out.data = {predict::load_devices(data_dir), predict::load_stacks(data_dir)};
  auto published = predict::published_cases(entries, out.data, ModelCatalog(data_dir));
  out.samples = predict::samples_of(published.cases);
  out.unpredicted = std::move(published.unpredicted);
  out.scores = predict::scores(out.samples, out.unpredicted, splits);
  return out;
}

}  // namespace perfbench::harness
