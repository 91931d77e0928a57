// Writes the simulated series to files, for other detectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace perfbench::harness {

struct SeriesExport {
  std::size_t unchanged = 4;  // series of a year, for every noise kind
  std::size_t shifted = 20;   // for every noise kind and size of shift
  std::uint64_t seed = 1;
};

// Writes two CSV files into the folder, which is created:
//
// series.csv: noise,shift_sigma,series,night,value
//     The value is a log time. Nights count from 0. Those before kHistoryNights are the known history; a shift begins
//     at that night and lasts 60 nights.
//
// screens.csv: noise,shift_sigma,series,night
//     The nights on which perfbench's own screen reports a shift, given the nights up to it. A shifted series has only
//     the first of them.
//
// Returns the number of series. Throws InputError if the folder cannot be written.
std::size_t export_series(const std::filesystem::path& folder, const SeriesExport& what);

}  // namespace perfbench::harness
