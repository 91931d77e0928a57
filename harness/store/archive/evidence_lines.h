// One attempt as lines of an export:
//
//     {"attempt":...}      AttemptEntry; the following lines of these kinds belong to it
//     {"run":...}          spec::RunSpec
//     {"environment":...}  spec::EnvironmentRecord, if the engine got that far
//     {"result":...}       spec::RunSummary, if it has one
//     {"step":...}         spec::StepRecord, by rank and step
//     {"gpu_sample":...}   spec::GpuSample, by rank and time
//     {"traced_step":...}  TraceSummary, by rank and step
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

// attempt.json in the store's form, and other facts about the attempt.
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

// The limit for the lines of one attempt, far above the needs of a run: it limits the memory of an import.
inline constexpr std::size_t kMostRowsOfAnAttempt = std::size_t{1} << 24;

// Assembles the lines of one attempt and checks them like its run directory.
class EvidenceLines {
 public:
  EvidenceLines();
  ~EvidenceLines();

  static bool begins(std::string_view tag);  // whether the line begins an attempt
  static bool has(std::string_view tag);     // whether it is another line of one

  // Throw SpecError.
  void take(std::string_view tag, std::string_view record);
  StoredEvidence finish();

  AttemptName name() const;  // valid once the attempt has begun

 private:
  class Reading;
  std::unique_ptr<Reading> reading_;
};

}  // namespace perfbench::harness
