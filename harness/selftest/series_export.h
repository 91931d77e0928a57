// The simulated series as files, for other detectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace perfbench::harness {

struct SeriesExport {
  std::size_t unchanged = 4;  // series of a year, of every noise kind
  std::size_t shifted = 20;   // of every noise kind and size of shift
  std::uint64_t seed = 1;
};

// Two CSV files into the folder, which is made:
//   series.csv   noise,shift_sigma,series,night,value: the value is a log time. Nights count from 0. Those before
//                kHistoryNights are there to be known; a shift begins at that night and lasts 60.
//   screens.csv  noise,shift_sigma,series,night: the nights on which perfbench's own screen speaks, given the nights up
//                to it; of a shifted series the first of them.
// Returns the number of series. Throws InputError where the folder cannot be written.
std::size_t export_series(const std::filesystem::path& folder, const SeriesExport& what);

}  // namespace perfbench::harness
