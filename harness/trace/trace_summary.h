// Where the time of each traced step went.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/evidence/trace_file.h"
#include "workloads/spec/fields.h"

namespace perfbench::harness {

// One traced step of one rank. Every nanosecond of wall_ns counts to exactly one part (trace_part.h has the order where
// several run at once), so that
//
//     wall = gemm + attention + norm + elementwise + optimizer + other + copy + exposed_comm + idle_dependency
//            + idle_host
//
// collective_ns is the time during which any collective ran, hidden behind computation or not. It is not part of the
// sum.
struct TraceSummary {
  std::int64_t rank = 0;
  std::int64_t step = 0;
  std::int64_t wall_ns = 0;
  std::int64_t gemm_ns = 0;
  std::int64_t attention_ns = 0;
  std::int64_t norm_ns = 0;
  std::int64_t elementwise_ns = 0;
  std::int64_t optimizer_ns = 0;
  std::int64_t other_ns = 0;
  std::int64_t copy_ns = 0;
  std::int64_t exposed_comm_ns = 0;
  std::int64_t idle_dependency_ns = 0;
  std::int64_t idle_host_ns = 0;
  std::int64_t collective_ns = 0;
  std::int64_t dropped_records =
      0;  // in the rank's whole trace; if it is not 0, parts are too small and idle time is too large

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"rank", "rank"}, self.rank);
    f(Field{"step", "traced step"}, self.step);
    f(Field{"wall_ns", "the whole step"}, self.wall_ns);
    f(Field{"gemm_ns", "matrix products"}, self.gemm_ns);
    f(Field{"attention_ns", "attention"}, self.attention_ns);
    f(Field{"norm_ns", "norms"}, self.norm_ns);
    f(Field{"elementwise_ns", "elementwise operations and reductions"}, self.elementwise_ns);
    f(Field{"optimizer_ns", "gradient norm and update"}, self.optimizer_ns);
    f(Field{"other_ns", "kernels that no rule names"}, self.other_ns);
    f(Field{"copy_ns", "copies and memory that is set"}, self.copy_ns);
    f(Field{"exposed_comm_ns", "collectives while nothing was computed or copied"}, self.exposed_comm_ns);
    f(Field{"idle_dependency_ns", "nothing ran, and submitted work waited"}, self.idle_dependency_ns);
    f(Field{"idle_host_ns", "nothing ran, and nothing had been submitted"}, self.idle_host_ns);
    f(Field{"collective_ns", "all collectives, including hidden ones; not in the sum"}, self.collective_ns);
    f(Field{"dropped_records", "records of the rank that were dropped because the buffer was full"},
      self.dropped_records);
  }
};

// By step.
std::vector<TraceSummary> summarise(const RankTrace& trace);
// By rank, then step.
std::vector<TraceSummary> summarise(const std::vector<RankTrace>& traces);

}  // namespace perfbench::harness
