#include "harness/store/archive/evidence_lines.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "harness/store/archive/record_line.h"
#include "harness/system/sha256.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/step_line.h"

namespace perfbench::harness {
namespace {

constexpr std::string_view kFirst = "attempt";
constexpr std::array<std::string_view, 8> kOthers{"run",        "environment", "result",         "step",
                                                  "gpu_sample", "traced_step", "program_result", "sample"};

[[noreturn]] void refuse(const std::string& what) {
  throw spec::SpecError("", what);
}

// Appends a row of a rank; rows must be sorted by rank, and by position within a rank.
template <class Row>
void append(std::vector<Row>& rows, const Row& row, std::int64_t Row::*place, const spec::RunSpec& run) {
  if (row.rank < 0 || row.rank >= run.mesh.devices()) {
    refuse("it is of rank " + std::to_string(row.rank) + " of a run of " + std::to_string(run.mesh.devices()));
  }
  if (!rows.empty() && std::pair{row.rank, row.*place} <= std::pair{rows.back().rank, rows.back().*place}) {
    refuse("it is out of order: rank " + std::to_string(row.rank) + ", " + std::to_string(row.*place) + " after rank " +
           std::to_string(rows.back().rank) + ", " + std::to_string(rows.back().*place));
  }
  if (rows.size() >= kMostRowsOfAnAttempt) refuse("the attempt has more such lines than any run writes");
  rows.push_back(row);
}

template <class Record>
void set_once(std::optional<Record>& out, std::string_view record) {
  if (out) refuse("the attempt already has one");
  out = parse_record<Record>(record);
}

}  // namespace

class EvidenceLines::Reading {
 public:
  void take(std::string_view tag, std::string_view record) {
    if (tag == kFirst) return set_once(entry_, record);
    if (!entry_) refuse("it does not belong to an attempt");
    if (tag == "run") return set_run(record);
    if (!run_) refuse("the attempt has no run yet");
    auto& evidence = out_.evidence;
    if (tag == "environment") return set_once(evidence.environment, record);
    if (tag == "result") return set_once(evidence.summary, record);
    if (tag == "step") return append(evidence.steps, steps_.read(record), &spec::StepRecord::step, *run_);
    if (tag == "gpu_sample") {
      return append(evidence.gpu_samples, parse_record<spec::GpuSample>(record), &spec::GpuSample::at_ns, *run_);
    }
    if (tag == "program_result") return set_once(evidence.program_result, record);
    if (tag == "sample") return append_sample(parse_record<spec::Sample>(record));
    append(out_.traced, parse_record<TraceSummary>(record), &TraceSummary::step, *run_);
  }

  AttemptName name() const { return entry_ ? name_of(entry_->record) : AttemptName{}; }

  StoredEvidence finish() {
    if (!entry_ || !run_) refuse("the attempt has no run");
    auto& evidence = out_.evidence;
    evidence.attempt = std::move(entry_->record);
    evidence.recorded_state = evidence.attempt.state;
    evidence.record_sha256 = std::move(entry_->record_sha256);
    evidence.lost_step_lines = entry_->lost_step_lines;
    evidence.run = std::move(*run_);
    evidence.run_json = spec::canonical_json(evidence.run);
    if (evidence.attempt.started_utc.empty()) refuse("the attempt has no started_utc");
    const auto id = sha256_hex(evidence.run_json);
    if (id != evidence.attempt.run_id) {
      refuse("its run hashes to " + id + ", but the attempt says run_id " + evidence.attempt.run_id);
    }
    return std::move(out_);
  }

 private:
  void set_run(std::string_view record) {
    if (run_) refuse("the attempt already has one");
    run_ = spec::parse_recorded_run(record);
  }

  void append_sample(spec::Sample sample) {
    auto& samples = out_.evidence.samples;
    if (!run_->program) refuse("it is a sample, but the run is one of perfbench-engine");
    if (samples.size() >= kMostRowsOfAnAttempt) refuse("the attempt has more such lines than any run writes");
    samples.push_back(std::move(sample));
  }

  StoredEvidence out_;
  std::optional<AttemptEntry> entry_;
  std::optional<spec::RunSpec> run_;
  spec::StepLineReader steps_;
};

AttemptEntry entry_of(const RunEvidence& evidence) {
  return {evidence.attempt, evidence.record_sha256, evidence.lost_step_lines};
}

void write_evidence(const StoredEvidence& stored, const LineSink& sink) {
  const auto write = [&](std::string_view tag, const auto& record) { sink(to_line(tag, record_text(record))); };
  const auto& evidence = stored.evidence;
  write(kFirst, entry_of(evidence));
  sink(to_line("run", spec::canonical_json(evidence.run)));
  if (evidence.environment) write("environment", *evidence.environment);
  if (evidence.summary) write("result", *evidence.summary);
  for (const auto& step : evidence.steps) write("step", step);
  for (const auto& sample : evidence.gpu_samples) write("gpu_sample", sample);
  if (evidence.program_result) write("program_result", *evidence.program_result);
  for (const auto& sample : evidence.samples) write("sample", sample);
  for (const auto& step : stored.traced) write("traced_step", step);
}

EvidenceLines::EvidenceLines() : reading_(std::make_unique<Reading>()) {}
EvidenceLines::~EvidenceLines() = default;

bool EvidenceLines::begins(std::string_view tag) {
  return tag == kFirst;
}

bool EvidenceLines::has(std::string_view tag) {
  return std::find(kOthers.begin(), kOthers.end(), tag) != kOthers.end();
}

void EvidenceLines::take(std::string_view tag, std::string_view record) {
  reading_->take(tag, record);
}

AttemptName EvidenceLines::name() const {
  return reading_->name();
}

StoredEvidence EvidenceLines::finish() {
  return reading_->finish();
}

}  // namespace perfbench::harness
