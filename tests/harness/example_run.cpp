#include "tests/harness/example_run.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "harness/evidence/attempt.h"
#include "harness/system/run_id.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

std::int64_t to_ns(double seconds) {
  return std::llround(seconds * 1e9);
}

spec::StepRecord step_record(const ExampleRun& example, std::int64_t rank, std::size_t index) {
  spec::StepRecord record = example.step;
  record.rank = rank;
  record.step = static_cast<std::int64_t>(index);
  record.wall_ns = to_ns(example.step_s[index]);
  record.forward_ns = record.wall_ns / 4;
  record.backward_ns = record.wall_ns / 2;
  record.optimizer_ns = record.wall_ns / 8;
  record.other_ns = record.wall_ns - record.forward_ns - record.backward_ns - record.optimizer_ns;
  record.tokens = example.run.global_batch * example.run.seq_len;
  record.loss = 6.0 - 0.1 * static_cast<double>(index);
  record.grad_norm = 1.25;
  record.learning_rate = 3e-4;
  record.probe_ns = to_ns(example.probe_s[std::min(index, example.probe_s.size() - 1)]);
  record.peak.total_bytes = example.peak_bytes;
  return record;
}

spec::RunSummary summary_of(const ExampleRun& example) {
  spec::RunSummary summary;
  summary.status = "ok";
  summary.steps = static_cast<std::int64_t>(example.step_s.size());
  summary.startup_ns = 40'000'000;
  summary.peak.total_bytes = example.peak_bytes;
  summary.resident_bytes = example.peak_bytes + (8 << 20);
  summary.attention_kernels = example.attention_kernels;
  summary.evaluation = example.evaluation;
  summary.flops.feed_forward_flops = 1'000'000;
  summary.flops.rematerialised_flops = 250'000;
  summary.traffic = {{.axis = "fsdp",
                      .collective = "all_gather",
                      .messages = 4,
                      .payload_bytes = 4096,
                      .sent_bytes = 2048,
                      .exposed_ns = 1'500'000}};
  return summary;
}

}  // namespace

spec::RunSpec example_spec() {
  spec::RunSpec run;
  run.model.name = "llama-tiny";
  run.model.layers = 2;
  run.model.d_model = 64;
  run.model.n_heads = 4;
  run.model.n_kv_heads = 2;
  run.model.head_dim = 16;
  run.model.d_ff = 128;
  run.model.vocab_size = 256;
  run.model.max_seq_len = 64;
  run.seq_len = 32;
  run.global_batch = 4;
  run.steps = 6;
  return run;
}

spec::EnvironmentRecord example_environment() {
  spec::EnvironmentRecord environment;
  environment.hostname = "node1";
  environment.kernel = "6.1.0";
  environment.cpu_model = "Example CPU 3000";
  environment.cores_online = 2;
  environment.cores_allowed = 2;
  environment.threads_per_rank = 2;
  environment.load_1m = 0.25;
  environment.memory_bytes = std::int64_t{8} << 30;
  environment.memory_available_bytes = std::int64_t{6} << 30;
  environment.git_commit = "0123456789abcdef";
  environment.libraries = {{"oneDNN", "2.6.3"}};
  environment.peak_flops_per_s = 1e11;
  return environment;
}

AttemptRecord example_attempt(const std::string& cell, std::int64_t number) {
  AttemptRecord attempt;
  attempt.attempt = number;
  attempt.started_utc = "2026-01-31T12:00:0" + std::to_string(number % 10) + "Z";
  attempt.wall_ns = 3'500'000'000;
  attempt.matrix = "example";
  attempt.cell = cell;
  attempt.axes = {{"model", "llama-tiny"}};
  attempt.command = {"perfbench-engine", "run", "--run", "run.json"};
  attempt.sweep_id = "20260131T120000Z-example";
  attempt.engine_sha256 = std::string(64, 'e');
  attempt.perfbench_version = "0.1.0";
  return attempt;
}

void write_run_directory(const fs::path& directory, const ExampleRun& example) {
  fs::create_directories(directory);
  auto attempt = example.attempt;
  attempt.run_id = run_id(example.run);
  write_text(directory / kRunFile, spec::canonical_json(example.run) + "\n");
  if (attempt.state == AttemptState::ok) {
    write_text(directory / kEnvironmentFile, spec::to_json_line(example.environment) + "\n");
    write_text(directory / kResultFile, spec::to_json_line(summary_of(example)) + "\n");
    for (std::int64_t rank = 0; rank < example.run.mesh.devices(); ++rank) {
      std::string lines;
      for (std::size_t i = 0; i < example.step_s.size(); ++i) {
        lines += spec::to_json_line(step_record(example, rank, i)) + "\n";
      }
      write_text(directory / steps_file(rank), lines);
    }
  }
  write_text(directory / kAttemptFile, to_json_line(attempt) + "\n");
}

const char* damage_name(Damage damage) {
  constexpr const char* kNames[] = {"cut off", "empty", "a pipe", "a folder", "endless", "huge"};
  return kNames[static_cast<std::size_t>(damage)];
}

void damage_file(const fs::path& file, Damage damage) {
  const auto text = fs::is_regular_file(file) ? read_text(file) : std::string("{\"a\": 1}\n");
  fs::remove_all(file);
  switch (damage) {
    case Damage::cut_off:
      return write_text(file, text.substr(0, text.size() / 2));
    case Damage::empty:
      return write_text(file, "");
    case Damage::pipe:
      if (::mkfifo(file.c_str(), 0600) != 0) throw std::runtime_error("no pipe " + file.string());
      return;
    case Damage::folder:
      fs::create_directory(file);
      return;
    case Damage::endless:
      return fs::create_symlink("/dev/zero", file);
    case Damage::huge:
      write_text(file, text);
      return fs::resize_file(file, std::uintmax_t{1} << 40);  // sparse: a terabyte that uses no space
  }
}

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "perfbench-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder " + name);
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  if (!out) throw std::runtime_error("cannot write " + file.string());
}

}  // namespace perfbench::harness
