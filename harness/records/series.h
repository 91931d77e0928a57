// The values of each cell over the nights of a store: one for each night, machine and subject. A series continues
// across subjects, because it shows the effect of each night's engine, but a single value belongs to one subject.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/records/finding.h"
#include "harness/records/subject.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {

struct NightPoint {
  NightId night;
  std::int64_t started_s = 0;  // start of the night, seconds since 1970
  std::int64_t sweep_key = 0;  // key of the night in this store: orders nights that began in the same second
  std::string only;            // AttemptRecord::only
  std::string machine;         // machine_class (harness/evidence/environment_rows.h)
  std::shared_ptr<const Subject> subject;                           // never null if read from a store
  std::shared_ptr<const std::map<std::string, std::string>> facts;  // facts of one of its runs; never null
  double value = 0;                                                 // exp of the median log over its runs; above 0
  std::size_t runs = 0;                                             // number of runs behind the value
  bool noisy = false;  // whether the noise probe moved during all its runs; if only during some, those are left out
};

struct SeriesHistory {
  bool is_control = false;  // runs with the fixed engine beside the nights: its drift is the drift of the machine
  std::string matrix;
  std::string cell;
  std::string run_id;
  std::string metric;
  std::optional<spec::Direction> declared;  // the better direction of a metric that the run's program declares
  std::vector<NightPoint> nights;  // oldest first; a night with several machines or subjects has one point for each
};

// The state of a cell in the newest night of its matrix: "ok" if any of its runs was, otherwise the state of the last
// one.
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
  std::map<std::string, std::set<std::string>> declared;  // by matrix: metrics of its programs with a better direction
};

}  // namespace perfbench::harness
