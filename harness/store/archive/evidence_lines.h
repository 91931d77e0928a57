// One attempt as lines of an export:
//
//   {"attempt":...}      AttemptEntry; the lines up to the next that is none of these are its own
//   {"run":...}          spec::RunSpec
//   {"environment":...}  spec::EnvironmentRecord, if the engine got that far
//   {"result":...}       spec::RunSummary, if it has one
//   {"step":...}         spec::StepRecord, by rank and step
//   {"gpu_sample":...}   spec::GpuSample, by rank and time
//   {"traced_step":...}  TraceSummary, by rank and step
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "harness/store/archive/record_line.h"
#include "harness/store/attempts/attempt_keys.h"
#include "harness/store/attempts/evidence_reader.h"
#include "workloads/spec/fields.h"

namespace perfbench::harness {

// attempt.json as the store keeps it, and what else it says of the attempt.
struct AttemptEntry {
  AttemptRecord record;
  std::string record_sha256;
  std::int64_t lost_step_lines = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"record", "attempt.json, as it was judged"}, self.record);
    f(Field{"record_sha256", "SHA-256 of attempt.json as it was written"}, self.record_sha256);
    f(Field{"lost_step_lines", "step lines that were cut off", 0}, self.lost_step_lines);
  }
};
AttemptEntry entry_of(const RunEvidence& evidence);

void write_evidence(const StoredEvidence& evidence, const LineSink& sink);

// What may be said in one attempt's lines, far above what a run writes: it bounds the memory of an import.
inline constexpr std::size_t kMostRowsOfAnAttempt = std::size_t{1} << 24;

// Puts the lines of one attempt together and checks them as its run directory would be.
class EvidenceLines {
 public:
  EvidenceLines();
  ~EvidenceLines();

  static bool begins(std::string_view tag);  // an attempt
  static bool has(std::string_view tag);     // another line of one

  // Throw SpecError.
  void take(std::string_view tag, std::string_view record);
  StoredEvidence finish();

  AttemptName name() const;  // once it is begun

 private:
  class Reading;
  std::unique_ptr<Reading> reading_;
};

}  // namespace perfbench::harness
