#include "harness/predict/baseline_utilisation.h"

#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "harness/predict/numbers.h"

namespace perfbench::predict {
namespace {

using spec::Recomputation;

struct RecomputedShare {
  double products = 0;
  double attention = 0;
};

RecomputedShare recomputed_share(Recomputation recompute) {
  switch (recompute) {
    case Recomputation::full:
      return {1, 1};
    case Recomputation::every_second_product:
    case Recomputation::some_layers:
      return {0.4, 0.4};
    case Recomputation::every_second_layer:
      return {0.5, 0.5};
    case Recomputation::feed_forward:
      return {0.3, 0.3};
    case Recomputation::core_attention:
      return {0, 1};
    case Recomputation::none:
    case Recomputation::dots:
    case Recomputation::keep_projections:
    case Recomputation::minimal_flash:
      break;
  }
  return {};
}

std::optional<double> mean_log_utilisation(const Samples& training, UtilisationKind kind,
                                           const std::function<bool(const PublishedCase&)>& chosen) {
  double sum = 0;
  double rows = 0;
  for (const auto* sample : training) {
    if (!chosen(sample->published)) continue;
    sum += std::log(ideal_seconds(sample->published.setup, kind) / sample->published.step_s);
    ++rows;
  }
  if (rows == 0) return std::nullopt;
  return sum / rows;
}

}  // namespace

double ideal_seconds(const TrainingSetup& setup, UtilisationKind kind) {
  const auto& m = setup.model;
  const double width = real(m.d_model);
  const double products = real(m.layers) * (width * real(m.head_dim * (2 * m.n_heads + 2 * m.n_kv_heads)) +
                                            (spec::is_gated(m.activation) ? 3 : 2) * width * real(m.d_ff));
  const double attention = 4 * real(m.layers * m.n_heads * m.head_dim) * real(setup.seq_len);
  const double head = 2 * real(m.vocab_size) * width;
  double flops = (setup.lora ? 2 : 3) * (2 * products + head) + 3 * attention;
  if (kind == UtilisationKind::hfu) {
    const auto share = recomputed_share(setup.recompute);
    flops += share.products * 2 * products + share.attention * attention;
  }
  const double tokens =
      setup.microbatch * real(setup.seq_len) * real(setup.microbatches) / real(setup.tp * setup.pp * setup.cp);
  const auto& peaks = setup.device->hardware.peak_flops_per_s;
  return flops * tokens / (setup.fp8 ? peaks.fp8 : peaks.bf16);
}

double constant_utilisation_step_s(const Samples& training, const PublishedCase& row, UtilisationKind kind) {
  const auto same_architecture = [&row](const PublishedCase& other) {
    return other.setup.device->figures.architecture == row.setup.device->figures.architecture;
  };
  auto mean = mean_log_utilisation(training, kind, [&](const PublishedCase& other) {
    return same_architecture(other) && other.setup.fp8 == row.setup.fp8;
  });
  if (!mean) mean = mean_log_utilisation(training, kind, same_architecture);
  if (!mean) mean = mean_log_utilisation(training, kind, [](const PublishedCase&) { return true; });
  if (!mean) return std::numeric_limits<double>::quiet_NaN();
  return ideal_seconds(row.setup, kind) / std::exp(*mean);
}

}  // namespace perfbench::predict
