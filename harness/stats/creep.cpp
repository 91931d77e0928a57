#include "harness/stats/creep.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "harness/stats/statistics.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kFewestOfCreep = 26;
constexpr std::size_t kFewestCreeping = 10;
constexpr std::size_t kFewestOfLevel = 5;
constexpr double kTimesBetter = 20;     // likelihood of the trend over that of the step
constexpr std::size_t kNeighbours = 2;  // on each side
constexpr double kClipDeviations = 4;
constexpr double kSmallestSigma = 2e-4;  // log units, as of the screen: nights that repeat exactly have no likelihood

// One spike would look like a step or bend the trend.
std::vector<double> without_spikes(std::span<const double> logs) {
  std::vector<double> middle(logs.size());
  std::vector<double> away(logs.size());
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const auto begin = i > kNeighbours ? i - kNeighbours : 0;
    middle[i] = median_between(logs, begin, std::min(logs.size(), i + kNeighbours + 1));
    away[i] = std::abs(logs[i] - middle[i]);
  }
  const double limit = kClipDeviations * kGaussianDeviation * median(away);
  std::vector<double> out(logs.begin(), logs.end());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::clamp(out[i], middle[i] - limit, middle[i] + limit);
  return out;
}

// The least squares of a level and a multiple of `shape`, under AR(1) noise of coefficient phi: of innovations.
struct CreepFit {
  double level = 0;
  double size = 0;
  double squares = std::numeric_limits<double>::infinity();
};

template <class Shape>
CreepFit fit_shape(const std::vector<double>& x, double phi, const Shape& shape) {
  const double head = std::sqrt(1 - phi * phi);
  double one_one = 0;
  double one_shape = 0;
  double shape_shape = 0;
  double one_x = 0;
  double shape_x = 0;
  double x_x = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double one = i == 0 ? head : 1 - phi;
    const double s = i == 0 ? head * shape(0) : shape(i) - phi * shape(i - 1);
    const double y = i == 0 ? head * x[0] : x[i] - phi * x[i - 1];
    one_one += one * one;
    one_shape += one * s;
    shape_shape += s * s;
    one_x += one * y;
    shape_x += s * y;
    x_x += y * y;
  }
  const double determinant = one_one * shape_shape - one_shape * one_shape;
  if (determinant <= 0) return {};
  CreepFit out{.level = (shape_shape * one_x - one_shape * shape_x) / determinant,
               .size = (one_one * shape_x - one_shape * one_x) / determinant};
  out.squares = x_x - out.level * one_x - out.size * shape_x;
  return out;
}

struct CreepTrend {
  std::size_t last_level = 0;
  CreepFit fit;
};

double nights_since(std::size_t night, std::size_t last_level) {
  return night > last_level ? static_cast<double>(night - last_level) : 0.0;
}

CreepTrend best_trend(const std::vector<double>& x, double phi) {
  CreepTrend best;
  for (auto knee = kFewestOfLevel - 1; knee + kFewestCreeping < x.size(); ++knee) {
    const auto found = fit_shape(x, phi, [knee](std::size_t i) { return nights_since(i, knee); });
    if (found.squares < best.fit.squares) best = {.last_level = knee, .fit = found};
  }
  return best;
}

double least_squares_of_step(const std::vector<double>& x, double phi) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t first = 1; first < x.size(); ++first) {
    least = std::min(least, fit_shape(x, phi, [first](std::size_t i) { return i >= first ? 1.0 : 0.0; }).squares);
  }
  return least;
}

double coefficient_of_residuals(const std::vector<double>& x, const CreepTrend& trend) {
  double cross = 0;
  double square = 0;
  double last = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double e = x[i] - trend.fit.level - trend.fit.size * nights_since(i, trend.last_level);
    square += e * e;
    cross += e * last;
    last = e;
  }
  return square > 0 ? std::clamp(cross / square, 0.0, 0.9) : 0.0;
}

}  // namespace

std::optional<Creep> find_creep(std::span<const double> logs) {
  if (logs.size() < kFewestOfCreep) return std::nullopt;
  auto x = without_spikes(logs);
  const double middle = median(x);
  for (auto& value : x) value -= middle;
  const double phi = coefficient_of_residuals(x, best_trend(x, 0));
  const auto trend = best_trend(x, phi);
  const auto n = static_cast<double>(x.size());
  const double least = n * kSmallestSigma * kSmallestSigma;
  const double step = std::max(least, least_squares_of_step(x, phi));
  const double better = 0.5 * n * std::log(step / std::max(least, trend.fit.squares));
  if (better < std::log(kTimesBetter)) return std::nullopt;
  return Creep{.last_level = trend.last_level, .per_night = trend.fit.size};
}

}  // namespace perfbench::harness
