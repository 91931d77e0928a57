#include "harness/selftest/series_export.h"

#include <fmt/core.h>

#include <fstream>
#include <string>
#include <vector>

#include "harness/selftest/screen_rates.h"
#include "harness/selftest/simulation.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kShiftedNights = 60;

struct Group {
  SeriesPlan plan;
  std::size_t series = 0;
};

std::vector<Group> groups_of(const SeriesExport& what) {
  std::vector<Group> out;
  for (const auto kind : kNoiseKinds) {
    const auto year = kHistoryNights + kYear;
    out.push_back({.plan = {.noise = kind, .nights = year, .first_shifted = year}, .series = what.unchanged});
    for (const double sigma : {1.0, 2.0, 3.0, 5.0}) {
      out.push_back({.plan = {.noise = kind,
                              .nights = kHistoryNights + kShiftedNights,
                              .first_shifted = kHistoryNights,
                              .shift_sigma = sigma},
                     .series = what.shifted});
    }
  }
  return out;
}

std::ofstream open_file(const std::filesystem::path& path) {
  std::ofstream out(path);
  if (!out) throw InputError("[selftest] cannot write " + path.string());
  return out;
}

}  // namespace

std::size_t export_series(const std::filesystem::path& folder, const SeriesExport& what) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);  // open_file() reports the error
  auto values = open_file(folder / "series.csv");
  auto screens = open_file(folder / "screens.csv");
  values << "noise,shift_sigma,series,night,value\n";
  screens << "noise,shift_sigma,series,night\n";
  std::size_t count = 0;
  for (const auto& group : groups_of(what)) {
    const auto series =
        replicate(group.series, [&](std::size_t i) { return simulate_series(group.plan, what.seed, i); });
    const auto how = group.plan.shift_sigma > 0 ? Screening::until_it_speaks : Screening::all_nights;
    const auto nights = replicate(group.series, [&](std::size_t i) { return screened_nights(series[i], how); });
    for (std::size_t i = 0; i < group.series; ++i) {
      const auto key = fmt::format("{},{},{}", spec::enum_name(group.plan.noise), group.plan.shift_sigma, i);
      for (std::size_t n = 0; n < series[i].size(); ++n) values << fmt::format("{},{},{:.9g}\n", key, n, series[i][n]);
      for (const auto n : nights[i]) screens << fmt::format("{},{}\n", key, n);
    }
    count += group.series;
  }
  values.close();
  screens.close();
  if (!values || !screens) throw InputError("[selftest] cannot write all of " + folder.string());
  return count;
}

}  // namespace perfbench::harness
