#include "harness/stats/noise_change.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/stats/night_noise.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kNewest = 30;
constexpr std::size_t kFewestOfNoise = 70;
constexpr std::size_t kFewestToFollow = 120;  // fewer nights often have a ratio above kWorthFollowing by chance
constexpr std::size_t kLeftOutOf = 5;         // of the squares, the largest fifth
// Chance exceeds this on 2 % of the nights of a Gaussian series and 7 % of those of an exponential one; 1.3 on 10 and
// 17 %, which delayed the screen by a night.
constexpr double kWorthFollowing = 1.5;
constexpr double kWorthSimulating = 1.4;  // a smaller ratio is common

// The mean square of the differences between each of the nights [first, last) and its previous night.
double mean_square_difference(std::span<const double> logs, std::size_t first, std::size_t last, double smallest) {
  std::vector<double> squares;
  for (auto i = std::max<std::size_t>(1, first); i < last; ++i) {
    squares.push_back((logs[i] - logs[i - 1]) * (logs[i] - logs[i - 1]));
  }
  std::sort(squares.begin(), squares.end());
  squares.resize(squares.size() - squares.size() / kLeftOutOf);
  double sum = 0;
  for (const double square : squares) sum += square;
  return std::max(sum / static_cast<double>(squares.size()), 2 * smallest * smallest);
}

double deviation_ratio(std::span<const double> logs, const ScreenRule& rule) {
  const auto since = logs.size() - kNewest;
  return std::sqrt(mean_square_difference(logs, since, logs.size(), rule.smallest_sigma) /
                   mean_square_difference(logs, 0, since, rule.smallest_sigma));
}

// The newest nights, and those before that they are compared with.
std::span<const double> compared_nights(std::span<const double> logs, const ScreenRule& rule) {
  return logs.last(std::min(logs.size(), rule.most_reference + kNewest));
}

}  // namespace

double newest_scatter(std::span<const double> logs, const ScreenRule& rule) {
  if (logs.size() < kFewestToFollow) return 1;
  const double ratio = deviation_ratio(compared_nights(logs, rule), rule);
  return ratio < kWorthFollowing ? 1 : ratio;
}

std::optional<NoiseChange> find_noise_change(std::span<const double> logs, const ScreenRule& rule) {
  if (logs.size() < kFewestOfNoise) return std::nullopt;
  const auto nights = compared_nights(logs, rule);
  const double ratio = deviation_ratio(nights, rule);
  if (ratio < kWorthSimulating) return std::nullopt;
  // The reference are all nights but the newest ones: set() leaves out the last most_recent of what it is given.
  const auto known = nights.first(nights.size() - kNewest + rule.most_recent);
  PreparedNights prepared;
  prepared.set(known, rule);
  const auto pool = own_pool(known, prepared.noise(), windows_of(known.size(), rule));
  const double allowed = rule.noisier_nights_per_year / kNightsPerYear * static_cast<double>(rule.draws);
  NightDraws draws(pool, prepared.noise().phi, nights.size(), rule);
  std::vector<double> ratios;
  std::size_t exceeding = 0;
  for (std::size_t i = 0; i < rule.draws; ++i) {
    ratios.push_back(deviation_ratio(draws.next(), rule));
    if (ratios.back() >= ratio && ++exceeding >= kFewestCounted) return std::nullopt;
  }
  const double threshold = score_exceeded_by(allowed, std::move(ratios));
  if (ratio <= threshold) return std::nullopt;
  return NoiseChange{.since = logs.size() - kNewest, .ratio = ratio, .threshold = threshold};
}

}  // namespace perfbench::harness
