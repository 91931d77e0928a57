#include "harness/store/evidence.h"

#include <fmt/core.h>

#include <fstream>
#include <sstream>

#include "harness/input_error.h"
#include "harness/matrix/run_id.h"
#include "harness/run/attempt_json.h"
#include "harness/run/gpu_samples.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/step_line.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void reject(const fs::path& file, std::size_t line, const std::string& what) {
  throw InputError(fmt::format("[ingest] {}:{} {}", file.string(), line, what));
}

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw InputError("[ingest] " + file.string() + " cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

// Runs `parse` on the file's text; an error names the file and the place in it.
template <class Parse>
auto parse_file(const fs::path& file, const Parse& parse) {
  try {
    return parse(read_file(file));
  } catch (const spec::SpecError& e) {
    const std::string at = e.pointer().empty() ? "" : "at " + e.pointer() + ": ";
    reject(file, 1, at + e.what());
  }
}

// Appends one rank's steps.
void read_steps(const fs::path& file, std::int64_t rank, RunEvidence& out) {
  const std::string text = read_file(file);
  spec::StepLineReader reader;
  std::int64_t last_step = -1;
  std::size_t line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto newline = text.find('\n', begin);
    const bool whole = newline != std::string::npos;
    const auto line = std::string_view(text).substr(begin, whole ? newline - begin : std::string::npos);
    begin = whole ? newline + 1 : text.size();
    ++line_number;
    try {
      const auto& step = reader.read(line);
      if (step.rank != rank) reject(file, line_number, fmt::format("holds a step of rank {}", step.rank));
      if (step.step <= last_step) reject(file, line_number, fmt::format("step {} follows {}", step.step, last_step));
      last_step = step.step;
      out.steps.push_back(step);
    } catch (const spec::SpecError& e) {
      // Only the last line can have been cut off, and a cut line has no end.
      if (whole) reject(file, line_number, e.what());
      ++out.lost_step_lines;
    }
  }
}

void check(const fs::path& directory, const RunEvidence& evidence) {
  const auto id = sha256_hex(evidence.run_json);
  if (id != evidence.attempt.run_id) {
    reject(directory / kRunFile, 1,
           fmt::format("hashes to {}, but {} says run_id {}: the folder mixes two runs", id, kAttemptFile,
                       evidence.attempt.run_id));
  }
  if (evidence.attempt.state == AttemptState::ok && evidence.steps.empty()) {
    reject(directory / steps_file(0), 1, fmt::format("has no step, but {} says the attempt is ok", kAttemptFile));
  }
}

}  // namespace

spec::RunSpec parse_recorded_run(std::string_view text) {
  return spec::fields_from_json<spec::RunSpec>(spec::parse_json(text), spec::Missing::is_error);
}

std::optional<AttemptRecord> read_attempt_record(const fs::path& directory) {
  if (!fs::exists(directory / kAttemptFile)) return std::nullopt;
  return parse_file(directory / kAttemptFile, [](const auto& text) { return parse_attempt(text); });
}

std::string record_digest(const AttemptRecord& attempt) {
  return sha256_hex(to_json_line(attempt));
}

std::optional<RunEvidence> read_run_directory(const fs::path& directory) {
  auto attempt = read_attempt_record(directory);
  if (!attempt) return std::nullopt;
  RunEvidence out;
  out.attempt = std::move(*attempt);
  out.run = parse_file(directory / kRunFile, parse_recorded_run);
  out.run_json = spec::canonical_json(out.run);
  if (fs::exists(directory / kEnvironmentFile)) {
    out.environment =
        parse_file(directory / kEnvironmentFile, [](const auto& text) { return spec::parse_environment(text); });
  }
  if (fs::exists(directory / kResultFile)) {
    out.summary = parse_file(directory / kResultFile, [](const auto& text) { return spec::parse_run_summary(text); });
  }
  for (std::int64_t rank = 0; rank < out.run.mesh.devices(); ++rank) {
    const auto file = directory / steps_file(rank);
    if (fs::exists(file)) read_steps(file, rank, out);
  }
  out.gpu_samples = read_gpu_samples(directory, out.run.mesh.devices()).samples;
  check(directory, out);
  return out;
}

}  // namespace perfbench::harness
