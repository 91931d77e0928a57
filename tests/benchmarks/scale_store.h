// A store as large as after years of use, in the real schema.
#pragma once

#include <cstdint>
#include <filesystem>

namespace perfbench::harness {

struct ScaleStore {
  std::int64_t runs = 100'000;      // attempts
  std::int64_t steps = 10'000'000;  // rows of steps, over all attempts
  std::int64_t series = 2'000;      // cells of the nightly matrix
  std::int64_t alerts_a_night = 3;
  std::uint64_t seed = 1;
};

// Fills a new database. 73 % of the attempts are nights of the matrix "nightly", every cell once; the rest are in one
// sweep a day, of the matrix "by-hand". Every series has its own level and noise, and every hundredth one a step
// upwards. For each cell, a real run directory is ingested as the template of a night; all other attempts are copies
// with other numbers. The same parameters give the same database. Throws InputError if `path` exists.
void fill_scale_store(const std::filesystem::path& path, const ScaleStore& how);

}  // namespace perfbench::harness
