// What the nights of a store say about each cell: one value a night, machine and subject. A series goes on across
// subjects, because it shows what each night's engine did; a value is of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/records/finding.h"
#include "harness/records/subject.h"

namespace perfbench::harness {

struct NightPoint {
  NightId night;
  std::int64_t started_s = 0;              // of the night, since 1970
  std::int64_t sweep_key = 0;              // of the night in this store: orders those of one second
  std::string only;                        // AttemptRecord::only
  std::string machine;                     // machine_class (harness/evidence/environment_rows.h)
  std::shared_ptr<const Subject> subject;  // never null of a store
  std::shared_ptr<const std::map<std::string, std::string>> facts;  // of one of its runs; never null
  double value = 0;                                                 // exp of the median log over its runs; above 0
  std::size_t runs = 0;                                             // that the value is of
  bool noisy = false;  // the noise probe moved during all of them; if it did not, those of which it did are left out
};

struct SeriesHistory {
  bool is_control = false;  // of the fixed engine that runs beside the nights: its drift is the machine's
  std::string matrix;
  std::string cell;
  std::string run_id;
  std::string metric;
  std::vector<NightPoint> nights;  // oldest first; of one night with several machines or subjects, one point each
};

// How a cell ended in the newest night of its matrix: "ok" if any of its runs did, else as the last of them.
struct TonightCell {
  std::string matrix;
  std::string cell;
  std::string state;
  std::string reason;

  bool only_planned() const { return state == "infeasible" || state == "excluded"; }
};
struct Tonight {
  std::map<std::string, NightId> night;     // by matrix
  std::map<std::string, std::string> only;  // by matrix: AttemptRecord::only
  std::vector<TonightCell> cells;
};

}  // namespace perfbench::harness
