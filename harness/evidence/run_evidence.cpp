#include "harness/evidence/run_evidence.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "harness/evidence/attempt.h"
#include "harness/evidence/evidence_file.h"
#include "harness/system/input_error.h"
#include "harness/system/run_id.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/finiteness.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/program_json.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/step_line.h"

namespace perfbench::harness {
namespace {

// Skips unreadable lines: damage is reported elsewhere.
void look_at_lines(std::string_view text, spec::Finiteness& out) {
  spec::StepLineReader reader;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    try {
      out.look_at(reader.read(line));
    } catch (const spec::SpecError&) {
      continue;
    }
  }
}

}  // namespace

spec::Finiteness finiteness_of_steps(const std::filesystem::path& directory, std::int64_t ranks) {
  spec::Finiteness out;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    try {
      const auto text = spec::read_regular_file(directory / steps_file(rank), spec::kLargestRecordsBytes);
      if (text) look_at_lines(*text, out);
    } catch (const spec::FileError&) {
      continue;  // reported elsewhere, too
    }
  }
  return out;
}

namespace {

void take_lines(std::string_view text, GpuSamples& out) {
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    try {
      out.samples.push_back(spec::parse_gpu_sample(text.substr(begin, end - begin)));
    } catch (const spec::SpecError&) {
      ++out.unreadable_lines;
    }
    begin = end + 1;
  }
}

}  // namespace

GpuSamples read_gpu_samples(const std::filesystem::path& directory, std::int64_t ranks) {
  GpuSamples out;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    try {
      const auto text = spec::read_regular_file(directory / gpu_file(rank), spec::kLargestRecordsBytes);
      if (text) take_lines(*text, out);
    } catch (const spec::FileError&) {
      ++out.unreadable_lines;
    }
  }
  return out;
}

namespace fs = std::filesystem;
namespace {

[[noreturn]] void reject(const fs::path& file, std::size_t line, const std::string& what) {
  throw InputError(fmt::format("[ingest] {}:{} {}", file.string(), line, what));
}

std::string at_pointer(const spec::SpecError& error) {
  return (error.pointer().empty() ? "" : "at " + error.pointer() + ": ") + error.what();
}

// Reads a file that the evidence cannot do without.
template <class Parse>
auto parse_needed(const fs::path& file, const Parse& parse) {
  try {
    return read_document(file, parse);
  } catch (const DamagedFile& e) {
    throw InputError(fmt::format("[ingest] {}:1 {}", file.string(), e.what()));
  } catch (const spec::SpecError& e) {
    reject(file, 1, at_pointer(e));
  }
}

// Returns nullopt for a damaged file and notes the damage. A file that is whole and has the wrong content is an error
// only if it takes away the result of a run; in a run that failed it is noted like other damage.
template <class Parse>
auto parse_evidence(const fs::path& file, const Parse& parse, RunEvidence& out)
    -> decltype(read_document(file, parse)) {
  try {
    return read_document(file, parse);
  } catch (const DamagedFile& e) {
    out.damage.emplace_back(e.what());
  } catch (const spec::SpecError& e) {
    if (out.recorded_state == AttemptState::ok) reject(file, 1, at_pointer(e));
    out.damage.push_back(fmt::format("{} cannot be understood: {}", file.filename().string(), at_pointer(e)));
  }
  return std::nullopt;
}

// Appends the steps of one rank, up to the first damaged line.
class StepsReader {
 public:
  StepsReader(fs::path file, std::int64_t rank, RunEvidence& out) : file_(std::move(file)), rank_(rank), out_(out) {}

  void read() {
    try {
      const auto text = spec::read_regular_file(file_, spec::kLargestRecordsBytes);
      if (text) take_lines(*text);
    } catch (const spec::FileError& e) {
      note(e.trouble());
    }
  }

 private:
  void take_lines(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size();) {
      const auto newline = text.find('\n', begin);
      const bool whole = newline != std::string_view::npos;
      ++line_number_;
      if (!take(text.substr(begin, whole ? newline - begin : text.size() - begin), whole)) return;
      begin = whole ? newline + 1 : text.size();
    }
  }

  // Returns whether to go on.
  bool take(std::string_view line, bool whole) {
    try {
      const auto& step = reader_.read(line);
      if (step.rank != rank_) return refuse(fmt::format("holds a step of rank {}", step.rank));
      if (step.step <= last_step_) return refuse(fmt::format("step {} follows {}", step.step, last_step_));
      last_step_ = step.step;
      out_.steps.push_back(step);
      return true;
    } catch (const spec::NotJson& e) {
      if (whole) note(fmt::format("is damaged from line {} on: {}", line_number_, e.what()));
    } catch (const spec::SpecError& e) {
      if (whole) return refuse(e.what());
    }
    if (!whole) lose_last_line();
    return false;
  }

  // Only the last line can have been cut off, and then it has no line end. A rank that died leaves such a line; a run
  // that ended well does not.
  void lose_last_line() {
    ++out_.lost_step_lines;
    if (out_.recorded_state == AttemptState::ok) note(fmt::format("ends in the middle of line {}", line_number_));
  }

  bool refuse(const std::string& what) {
    if (out_.recorded_state == AttemptState::ok) reject(file_, line_number_, what);
    note(fmt::format("cannot be understood from line {} on: {}", line_number_, what));
    return false;
  }

  void note(const std::string& what) { out_.damage.push_back(file_.filename().string() + " " + what); }

  fs::path file_;
  std::int64_t rank_;
  RunEvidence& out_;
  spec::StepLineReader reader_;
  std::int64_t last_step_ = -1;
  std::size_t line_number_ = 0;
};

void check_run(const fs::path& directory, const RunEvidence& evidence) {
  const auto id = sha256_hex(evidence.run_json);
  if (id != evidence.attempt.run_id) {
    reject(directory / kRunFile, 1,
           fmt::format("hashes to {}, but {} says run_id {}: the folder mixes two runs", id, kAttemptFile,
                       evidence.attempt.run_id));
  }
}

// Reads samples.jsonl up to the first damaged line. A last line that was cut off is left out.
void read_samples(const fs::path& directory, RunEvidence& out) {
  try {
    const auto text = spec::read_regular_file(directory / spec::kSamplesFile, spec::kLargestRecordsBytes);
    std::string_view rest = text ? std::string_view(*text) : std::string_view();
    for (std::size_t line = 1; !rest.empty(); ++line) {
      const auto end = rest.find('\n');
      if (end == std::string_view::npos) {
        ++out.lost_step_lines;
        return;
      }
      try {
        out.samples.push_back(spec::parse_sample(rest.substr(0, end)));
      } catch (const spec::SpecError& e) {
        out.damage.push_back(fmt::format("{} is damaged from line {} on: {}", spec::kSamplesFile, line, e.what()));
        return;
      }
      rest.remove_prefix(end + 1);
    }
  } catch (const spec::FileError& e) {
    out.damage.push_back(std::string(spec::kSamplesFile) + " " + e.trouble());
  }
}

void read_program(const fs::path& directory, RunEvidence& out) {
  out.program_result = parse_evidence(directory / kResultFile, spec::parse_program_result, out);
  read_samples(directory, out);
}

void read_engine(const fs::path& directory, RunEvidence& out) {
  out.summary = parse_evidence(directory / kResultFile, spec::parse_run_summary, out);
  for (std::int64_t rank = 0; rank < out.run.mesh.devices(); ++rank) {
    StepsReader(directory / steps_file(rank), rank, out).read();
  }
  out.gpu_samples = read_gpu_samples(directory, out.run.mesh.devices()).samples;
}

// A run that ended well recorded every step on every rank. If there are fewer, whole lines were lost afterwards.
void note_lost_steps(RunEvidence& evidence) {
  std::vector<std::int64_t> found(static_cast<std::size_t>(evidence.run.mesh.devices()));
  for (const auto& step : evidence.steps) ++found[static_cast<std::size_t>(step.rank)];
  for (std::size_t rank = 0; rank < found.size(); ++rank) {
    if (found[rank] >= evidence.run.steps) continue;
    evidence.damage.push_back(fmt::format("{} holds {} of {} steps", steps_file(static_cast<std::int64_t>(rank)),
                                          found[rank], evidence.run.steps));
  }
}

// Adds the damage to the reason of a failed attempt; an attempt that was ok becomes a failed one. Damage that
// attempt.json already names is not repeated.
void account_for_damage(RunEvidence& evidence) {
  auto& attempt = evidence.attempt;
  if (attempt.state == AttemptState::ok && evidence.damage.empty() && !evidence.run.program) note_lost_steps(evidence);
  if (evidence.damage.empty()) return;
  if (attempt.state == AttemptState::ok) {
    attempt.state = AttemptState::crashed;
    attempt.reason = "it is recorded as ok, but its files are damaged";
  }
  for (const auto& damage : evidence.damage) {
    const auto file = damage.substr(0, damage.find(' '));
    if (attempt.reason.find(file) == std::string::npos) attempt.reason += (attempt.reason.empty() ? "" : "; ") + damage;
  }
}

// Older versions recorded a run whose loss stopped being finite as ok.
void judge_finiteness(RunEvidence& evidence) {
  if (evidence.attempt.state != AttemptState::ok) return;
  spec::Finiteness finiteness;
  for (const auto& step : evidence.steps) finiteness.look_at(step);
  if (finiteness.diverged()) evidence.attempt.state = AttemptState::diverged;
  if (evidence.attempt.reason.empty()) evidence.attempt.reason = finiteness.text();
}

}  // namespace

std::optional<AttemptRecord> read_attempt(const fs::path& directory) {
  return parse_needed(directory / kAttemptFile, parse_attempt);
}

std::string record_digest(const AttemptRecord& attempt) {
  return sha256_hex(to_json_line(attempt));
}

std::optional<RunEvidence> read_run_directory(const fs::path& directory) {
  auto attempt = read_attempt(directory);
  if (!attempt) return std::nullopt;
  RunEvidence out;
  out.attempt = std::move(*attempt);
  out.recorded_state = out.attempt.state;
  out.record_sha256 = record_digest(out.attempt);
  auto run = parse_needed(directory / kRunFile, spec::parse_recorded_run);
  if (!run) throw InputError(fmt::format("[ingest] {} does not exist", (directory / kRunFile).string()));
  out.run = std::move(*run);
  out.run_json = spec::canonical_json(out.run);
  check_run(directory, out);
  out.environment = parse_evidence(directory / kEnvironmentFile, spec::parse_environment, out);
  out.run.program ? read_program(directory, out) : read_engine(directory, out);
  account_for_damage(out);
  judge_finiteness(out);
  return out;
}

}  // namespace perfbench::harness
