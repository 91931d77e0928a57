// An attempt as stored, for comparisons and reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/evidence/attempt.h"
#include "harness/records/subject.h"
#include "workloads/spec/work_record.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::harness {

// The engine's facts about the machine and about itself. Many attempts share them.
struct StoredEnvironment {
  std::string machine_fingerprint;           // machine_class of the facts
  std::map<std::string, std::string> facts;  // "cpu_model" -> ...

  std::string git_commit() const;  // empty: unknown
};

// fp32 FLOP/s of the threads of one rank.
struct ClassPeak {
  double flops_per_s = 0;         // the highest measurement
  double median_flops_per_s = 0;  // median, which shows how far the other measurements are below the highest
  std::size_t measurements = 0;   // at least 1
};

struct StoredAttempt {
  std::int64_t key = 0;
  std::string run_id;
  std::int64_t attempt = 1;
  AttemptState state = AttemptState::ok;
  std::string reason;
  std::string sweep_id;
  std::string matrix;
  std::string cell;
  std::string started_utc;
  std::int64_t lost_step_lines = 0;
  std::shared_ptr<const ClassPeak> cpu_peak;             // null: the run used a GPU, or the peak was never measured
  bool emulated = false;                                 // the precision was computed by conversion
  std::shared_ptr<const spec::RunSpec> run;              // shared by the attempts of a run
  std::shared_ptr<const StoredEnvironment> environment;  // null: the engine did not get that far
  Subject subject;
  std::optional<spec::FlopCounts> flops;                 // of a step on rank 0; nullopt if the run did not end well
  std::vector<spec::AttentionKernel> attention_kernels;  // empty on a CPU, or if written by an older perfbench
  std::map<std::string, double> metrics;
};

}  // namespace perfbench::harness
