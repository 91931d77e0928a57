#include "harness/predict/score.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/predict/baseline_utilisation.h"
#include "harness/predict/numbers.h"
#include "workloads/spec/flops.h"

namespace perfbench::predict {
namespace {

using RowChoice = std::function<bool(const PublishedCase&)>;
using spec::RowRole;

const RowKey kFamily = [](const PublishedCase& row) { return row.family; };
const RowKey kName = [](const PublishedCase& row) { return row.name; };
const RowKey kSource = [](const PublishedCase& row) { return row.source; };
const RowKey kModel = [](const PublishedCase& row) { return row.setup.model.name; };

constexpr const char* kFoundry = "llm-foundry";

// LoRA rows are left out of the reference rows: their trained tokens are unknown, and they train a hundredth.
bool is_reference(const PublishedCase& row) {
  return row.role == RowRole::reference && !row.setup.lora;
}
bool is_good_reference(const PublishedCase& row) {
  return is_reference(row) && row.well_specified();
}
bool is_external(const PublishedCase& row) {
  return row.role == RowRole::external;
}
bool is_good_external(const PublishedCase& row) {
  return is_external(row) && row.well_specified();
}
bool is_lora(const PublishedCase& row) {
  return row.role == RowRole::reference && row.setup.lora;
}
bool is_earlier(const PublishedCase& row) {
  return row.role == RowRole::earlier;
}
bool is_present(const PublishedCase& row) {
  return !is_earlier(row);
}
RowChoice of_family(const std::string& family) {
  return [family](const PublishedCase& row) { return is_external(row) && row.family == family; };
}

// Predictions of rows that were held out, and the training rows of each for the baselines.
struct HeldOut {
  Predictions predictions;
  std::vector<double> mfu_errors;
  std::vector<double> hfu_errors;
};

void add_baselines(const Samples& training, const Samples& test, HeldOut& out) {
  for (const auto* sample : test) {
    const auto& row = sample->published;
    const auto error = [&](UtilisationKind kind) {
      return std::abs(constant_utilisation_step_s(training, row, kind) / row.step_s - 1);
    };
    out.mfu_errors.push_back(error(UtilisationKind::mfu));
    out.hfu_errors.push_back(error(UtilisationKind::hfu));
  }
}

class Scorer {
 public:
  Scorer(const std::vector<Sample>& samples, const std::vector<UnpredictedRow>& unpredicted)
      : samples_(samples), unpredicted_(unpredicted) {}

  void add(ScoreSplit split) {
    split_ = split;
    switch (split) {
      case ScoreSplit::zero_fit:
        return zero_fit();
      case ScoreSplit::leave_one_out:
        return leave_one_out();
      case ScoreSplit::llm_foundry_folds:
        return folds_of_foundry();
      case ScoreSplit::leave_source_out:
        return leave_out_by(kSource);
      case ScoreSplit::leave_system_out:
        return leave_out_by(kFamily);
      case ScoreSplit::extrapolation:
        return extrapolate();
    }
  }

  std::vector<Score> take() { return std::move(scores_); }

 private:
  Samples chosen(const RowChoice& choice) const {
    Samples out;
    for (const auto& sample : samples_) {
      if (choice(sample.published)) out.push_back(&sample);
    }
    return out;
  }

  std::vector<std::string> external_families() const {
    std::set<std::string> names;
    for (const auto* sample : chosen(is_external)) names.insert(sample->published.family);
    return {names.begin(), names.end()};
  }

  void put(const std::string& rows, HeldOut held, std::size_t unpredicted) {
    if (held.predictions.empty()) return;
    Score score{.split = split_,
                .rows = rows,
                .accuracy = accuracy_of(held.predictions),
                .constant_mfu_error = std::nullopt,
                .constant_hfu_error = std::nullopt,
                .unpredicted = unpredicted,
                .predictions = std::move(held.predictions)};
    if (!held.mfu_errors.empty()) score.constant_mfu_error = mean(held.mfu_errors);
    if (!held.hfu_errors.empty()) score.constant_hfu_error = mean(held.hfu_errors);
    scores_.push_back(std::move(score));
  }

  std::size_t unpredicted_of(const std::string& family) const {
    return static_cast<std::size_t>(std::count_if(unpredicted_.begin(), unpredicted_.end(),
                                                  [&](const UnpredictedRow& row) { return row.family == family; }));
  }

  // The interval comes from the zero-fit residuals of other families; the baselines from the external rows that are not
  // tested, or from all of them if those are tested.
  void put_zero_fit(const std::string& rows, const RowChoice& choice, std::size_t unpredicted) {
    const auto test = chosen(choice);
    std::set<std::string> families;
    for (const auto* sample : test) families.insert(sample->published.family);
    const auto others =
        chosen([&](const PublishedCase& row) { return is_external(row) && !families.contains(row.family); });
    HeldOut held{.predictions = predict(Calibration(), test), .mfu_errors = {}, .hfu_errors = {}};
    constexpr std::size_t kFewFamilies = 3;
    if (families.size() > kFewFamilies) {
      set_intervals_by_others(held.predictions, kFamily);
    } else {
      set_intervals(held.predictions, interval_factor(predict(Calibration(), others)));
    }
    add_baselines(others.empty() ? chosen(is_external) : others, test, held);
    put(rows, std::move(held), unpredicted);
  }

  void zero_fit() {
    put_zero_fit("reference", is_reference, 0);
    put_zero_fit("reference, well-specified", is_good_reference, 0);
    put_zero_fit("reference, LoRA", is_lora, 0);
    put_zero_fit("earlier Pax tables", is_earlier, 0);
    put_zero_fit("external", is_external, unpredicted_.size());
    put_zero_fit("external, well-specified", is_good_external, 0);
    for (const auto& family : external_families()) put_zero_fit(family, of_family(family), unpredicted_of(family));
  }

  // Fits on `context` without the rows that share the key of each tested row.
  HeldOut hold_out(const Samples& test, const Samples& context, const RowKey& key, const Samples& baseline_rows) const {
    HeldOut out;
    std::map<std::string, Samples> blocks;
    for (const auto* sample : test) blocks[key(sample->published)].push_back(sample);
    for (const auto& [name, block] : blocks) {
      const auto without = [&key, &held = name](const Samples& rows) {
        Samples kept;
        std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept),
                     [&](const Sample* sample) { return key(sample->published) != held; });
        return kept;
      };
      const auto predictions = predict(Calibration(without(context)), block);
      out.predictions.insert(out.predictions.end(), predictions.begin(), predictions.end());
      add_baselines(without(baseline_rows), block, out);
    }
    return out;
  }

  static void set_intervals_within(Predictions& predictions) {
    constexpr std::size_t kFew = 60;  // above it a single row does not move the quantile
    if (predictions.size() <= kFew) {
      set_intervals_by_others(predictions, kName);
    } else {
      set_intervals(predictions, interval_factor(predictions));
    }
  }

  void leave_one_out() {
    for (const auto& [name, choice] :
         {std::pair<const char*, RowChoice>{"reference", is_reference},
          std::pair<const char*, RowChoice>{"reference, well-specified", is_good_reference}}) {
      const auto rows = chosen(choice);
      auto held = hold_out(rows, rows, kName, rows);
      set_intervals_within(held.predictions);
      put(name, std::move(held), 0);
    }
    const auto external = chosen(is_external);
    for (const auto& family : external_families()) {
      const auto rows = chosen(of_family(family));
      if (family == kFoundry || rows.size() < 2) continue;
      auto held = hold_out(rows, external, kName, rows);
      set_intervals_within(held.predictions);
      put(family, std::move(held), unpredicted_of(family));
    }
  }

  void folds_of_foundry() {
    constexpr std::size_t kFolds = 10;
    const auto rows = chosen(of_family(kFoundry));
    auto held = hold_out(
        rows, rows, [](const PublishedCase& row) { return std::to_string(fold_of(row.name, kFolds)); }, rows);
    set_intervals_within(held.predictions);
    put(kFoundry, std::move(held), unpredicted_of(kFoundry));
  }

  void leave_out_by(const RowKey& key) {
    const auto rows = chosen(is_present);
    auto held = hold_out(rows, rows, key, rows);
    set_intervals_by_others(held.predictions, kFamily);
    put_subset(
        "all", held, [](const PublishedCase&) { return true; }, unpredicted_.size());
    put_subset(
        "well-specified", held, [](const PublishedCase& row) { return row.well_specified(); }, 0);
    put_subset("reference", held, is_reference, 0);
    if (split_ != ScoreSplit::leave_system_out) return;
    for (const auto& family : external_families()) put_subset(family, held, of_family(family), unpredicted_of(family));
  }

  void put_subset(const std::string& name, const HeldOut& all, const RowChoice& choice, std::size_t unpredicted) {
    HeldOut part;
    for (std::size_t i = 0; i < all.predictions.size(); ++i) {
      if (!choice(all.predictions[i].sample->published)) continue;
      part.predictions.push_back(all.predictions[i]);
      part.mfu_errors.push_back(all.mfu_errors[i]);
      part.hfu_errors.push_back(all.hfu_errors[i]);
    }
    put(name, std::move(part), unpredicted);
  }

  struct Extrapolation {
    const char* name;
    RowChoice training;
    RowChoice test;
    RowChoice outermost;  // of the training rows; null: there is no axis to rehearse on
    CalibrationChoice choice;
  };

  // The interval is the wider of leaving a model out and of a rehearsal: a fit without the outermost training rows
  // predicts them.
  void put_extrapolation(const Extrapolation& e) {
    const auto foundry = [&](const RowChoice& choice) {
      return chosen([&](const PublishedCase& row) { return of_family(kFoundry)(row) && choice(row); });
    };
    const auto training = foundry(e.training);
    const auto test = foundry(e.test);
    const auto rehearsed = [&](const RowChoice& held) {
      const auto kept = foundry([&](const PublishedCase& row) { return e.training(row) && !held(row); });
      const auto left = foundry([&](const PublishedCase& row) { return e.training(row) && held(row); });
      return predict(Calibration(kept, e.choice), left);
    };
    std::set<std::string> models;
    for (const auto* sample : training) models.insert(kModel(sample->published));
    Predictions by_model;
    for (const auto& model : models) {
      const auto part = rehearsed([&](const PublishedCase& row) { return kModel(row) == model; });
      by_model.insert(by_model.end(), part.begin(), part.end());
    }
    double factor = interval_factor(by_model);
    if (e.outermost) factor = std::max(factor, interval_factor(rehearsed(e.outermost)));
    HeldOut held{.predictions = predict(Calibration(training, e.choice), test), .mfu_errors = {}, .hfu_errors = {}};
    set_intervals(held.predictions, factor);
    add_baselines(training, test, held);
    put(e.name, std::move(held), 0);
  }

  void extrapolate() {
    constexpr std::int64_t kNode = 8;
    constexpr std::int64_t kShort = 4096;
    constexpr std::int64_t kLong = 8192;
    constexpr double kSmall = 3.5e9;
    constexpr double kOutermostSmall = 2e9;
    const auto products = [](const PublishedCase& row) {
      return spec::flops_per_token(spec::FlopDefinition::six_n_total, row.setup.model, row.setup.seq_len) / 6;
    };
    const auto a100 = [](const PublishedCase& row) { return row.setup.device->figures.architecture == "a100"; };
    CalibrationChoice by_device;  // a large run has a release of its own, which no small run has
    by_device.group = [](const PublishedCase& row) { return row.family + "/" + row.setup.device->figures.name; };
    CalibrationChoice one_group{.architectures = false};
    one_group.group = kFamily;
    put_extrapolation({"8 to 16..512 devices", [](const PublishedCase& row) { return row.setup.devices <= kNode; },
                       [](const PublishedCase& row) { return row.setup.devices > kNode; }, nullptr, by_device});
    put_extrapolation({"s <= 4k to s >= 8k",
                       [](const PublishedCase& row) { return row.setup.seq_len <= kShort; },
                       [](const PublishedCase& row) { return row.setup.seq_len >= kLong; },
                       [](const PublishedCase& row) { return row.setup.seq_len == kShort; },
                       {}});
    put_extrapolation({"<= 3B to 7B..70B",
                       [&](const PublishedCase& row) { return products(row) < kSmall; },
                       [&](const PublishedCase& row) { return products(row) >= kSmall; },
                       [&](const PublishedCase& row) { return products(row) > kOutermostSmall; },
                       {}});
    put_extrapolation({"A100 to H100, bf16", a100,
                       [&](const PublishedCase& row) { return !a100(row) && !row.setup.fp8; }, nullptr, one_group});
    put_extrapolation(
        {"A100 to H100, with fp8", a100, [&](const PublishedCase& row) { return !a100(row); }, nullptr, one_group});
  }

  const std::vector<Sample>& samples_;
  const std::vector<UnpredictedRow>& unpredicted_;
  ScoreSplit split_ = ScoreSplit::zero_fit;
  std::vector<Score> scores_;
};

}  // namespace

std::vector<Sample> samples_of(const std::vector<PublishedCase>& cases) {
  std::vector<Sample> out;
  out.reserve(cases.size());
  for (const auto& row : cases) out.push_back({row, step_parts(row.setup)});
  return out;
}

std::size_t fold_of(const std::string& name, std::size_t folds) {
  constexpr std::uint64_t kOffset = 14695981039346656037ULL;
  constexpr std::uint64_t kPrime = 1099511628211ULL;
  std::uint64_t hash = kOffset;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return static_cast<std::size_t>(hash % folds);
}

std::vector<Score> scores(const std::vector<Sample>& samples, const std::vector<UnpredictedRow>& unpredicted,
                          const std::vector<ScoreSplit>& splits) {
  Scorer scorer(samples, unpredicted);
  for (const auto split : splits) scorer.add(split);
  return scorer.take();
}

}  // namespace perfbench::predict
