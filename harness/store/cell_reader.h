// Cells out of the store, each of which runs in many sweeps.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "harness/sqlite/sqlite.h"

namespace perfbench::harness {

struct StoredCell {
  std::int64_t run_key = 0;
  std::string run_id;
  std::string matrix;
  std::string label;
  std::map<std::string, std::string> axes;
};

// Those that were asked for lately are read once.
class CellReader {
 public:
  explicit CellReader(const Connection& db);

  // Until the next call.
  const StoredCell& of(std::int64_t cell_key);

 private:
  Statement cell_;
  Statement axes_;
  std::unordered_map<std::int64_t, StoredCell> known_;
};

}  // namespace perfbench::harness
