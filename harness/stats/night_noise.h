// The noise of a series of nights, and series that are simulated from it: what the screen (screen.h) holds shifts and
// changes of the noise to. Pure functions of numbers.
#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "harness/stats/screen_rule.h"

namespace perfbench::harness {

// In a series of n nights, the noise is estimated from [reference_first, reference_last), and a shift may have begun at
// any night from reference_last on.
struct NightWindows {
  std::size_t reference_first = 0;
  std::size_t reference_last = 0;
};
NightWindows windows_of(std::size_t n, const ScreenRule& rule);

struct NightNoise {
  double center = 0;      // median
  double sigma = 0;       // of a night
  double phi = 0;         // AR(1) coefficient
  double innovation = 0;  // deviation of x_t - phi x_(t-1)
};

// A series, clipped and centred, with the noise of its reference nights. One object serves many series, which spares
// their memory. All nights are clipped at `scatter` times the usual limit; the noise is that of the usual one.
class PreparedNights {
 public:
  void set(std::span<const double> logs, const ScreenRule& rule, double scatter = 1);
  const std::vector<double>& values() const { return values_; }
  const NightNoise& noise() const { return noise_; }

 private:
  void clip(std::span<const double> logs, double limit);
  double robust(std::span<const double> values, double center);

  std::vector<double> values_;
  std::vector<double> scratch_;
  NightNoise noise_;
};

// The innovations of the reference nights, unclipped, about 0.
std::vector<double> own_pool(std::span<const double> logs, const NightNoise& noise, const NightWindows& windows);
// Equally likely standard normal quantiles.
const std::vector<double>& gaussian_pool();

// Simulates unchanged series: innovations drawn from a pool with replacement. The same draws for the same rule.
class NightDraws {
 public:
  NightDraws(const std::vector<double>& pool, double phi, std::size_t nights, const ScreenRule& rule)
      : pool_(pool), phi_(phi), random_(rule.seed), series_(nights) {}
  const std::vector<double>& next();

 private:
  const std::vector<double>& pool_;
  double phi_;
  std::mt19937_64 random_;
  std::vector<double> series_;
};

inline constexpr std::size_t kFewestCounted = 20;  // draws above a counted quantile: its rate has an error of 22 %

// The score that this many of the draws exceed. Fewer than kFewestCounted are not counted but extrapolated: beyond the
// largest draws the squares of scores are taken to fall exponentially, as those of Gaussian values do. The true tail is
// a little heavier. With 2000 draws of Gaussian, spiky and skewed nights, a score meant to be exceeded on one night in
// 1500 was exceeded 0.9 to 1.6 times as often for series of 134 nights, and 1.2 to 1.9 times for 20 or 40 nights. One
// meant for a night in 7000 was exceeded 1.0 to 2.1 times and 1.6 to 3.7 times as often.
double score_exceeded_by(double allowed, std::vector<double> scores);

}  // namespace perfbench::harness
