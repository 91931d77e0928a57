// Stands for perfbench-engine in tests of the harness: reads run.json, writes plausible records, and misbehaves as the
// seed of the run says (fake_engine.h). Ranks are distinguished by mpirun's environment variables.
#include "tests/harness/fake_engine.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <optional>
#include <thread>
#include <vector>

#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/turn_files.h"

namespace {

using namespace perfbench;
using fake::FakeBehaviour;
namespace fs = std::filesystem;

std::int64_t environment_number(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

void write_file(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text << '\n';
}

std::string environment_text(const char* name, const char* otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : text;
}

spec::EnvironmentRecord environment() {
  spec::EnvironmentRecord record;
  record.hostname = environment_text("PERFBENCH_FAKE_HOST", "fake");
  record.kernel = environment_text("PERFBENCH_FAKE_KERNEL", "");
  record.cpu_model = environment_text("PERFBENCH_FAKE_CPU", "fake");
  record.build_type = "Release";
  record.engine_version = "fake";
  record.mpi = "absent";
  record.cuda = "absent";
  record.libraries = {{"oneDNN", environment_text("PERFBENCH_FAKE_ONEDNN", "2.6")}};
  record.cores_online = record.cores_allowed = 2;
  record.threads_per_rank = environment_number("OMP_NUM_THREADS", 1);
  record.ranks = environment_number("OMPI_COMM_WORLD_SIZE", 1);
  record.peak_flops_per_s = 1e11;
  return record;
}

spec::StepRecord step_record(const spec::RunSpec& run, std::int64_t rank, std::int64_t step) {
  spec::StepRecord record;
  record.rank = rank;
  record.step = step;
  record.forward_ns = 300'000 + 1000 * (step % 3);
  record.backward_ns = 600'000;
  record.optimizer_ns = 100'000;
  record.wall_ns = record.forward_ns + record.backward_ns + record.optimizer_ns;
  record.tokens = run.global_batch * run.seq_len;
  record.loss = 5.0 - 0.01 * static_cast<double>(step);
  record.grad_norm = 1;
  record.learning_rate = 1e-3;
  record.peak.total_bytes = record.peak.weights_bytes = 1 << 20;
  return record;
}

void diverge(spec::StepRecord& record, FakeBehaviour behaviour) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  if (behaviour == FakeBehaviour::large_gradient && record.step == 1) record.grad_norm = kInfinity;
  if (behaviour != FakeBehaviour::diverge || record.step == 0) return;
  record.loss = record.step == 1 ? kInfinity : kNaN;
  record.grad_norm = kNaN;
}

// Simulates an engine with another speed, size or loss, for comparisons of two engines: factors from the environment.
// With PERFBENCH_FAKE_SPEED the attempt's number (the name of its folder) adds up to 0.2 % of noise to the times.
double factor(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 1 : std::atof(text);
}

void change(spec::StepRecord& record, const fs::path& dir) {
  const double noise = std::getenv("PERFBENCH_FAKE_SPEED") == nullptr
                           ? 0
                           : 0.001 * static_cast<double>(std::atoll(dir.filename().c_str()) * 7 % 5 - 2);
  const double slower = factor("PERFBENCH_FAKE_SPEED") * (1 + noise);
  for (auto* part : {&record.forward_ns, &record.backward_ns, &record.optimizer_ns, &record.wall_ns}) {
    *part = static_cast<std::int64_t>(static_cast<double>(*part) * slower);
  }
  record.peak.total_bytes =
      static_cast<std::int64_t>(static_cast<double>(record.peak.total_bytes) * factor("PERFBENCH_FAKE_SIZE"));
  record.loss *= factor("PERFBENCH_FAKE_LOSS");
}

// First interrupts the process that PERFBENCH_FAKE_INTERRUPTS names, like a user's Ctrl-C at this moment.
[[noreturn]] void hang() {
  const auto interrupted = static_cast<pid_t>(environment_number("PERFBENCH_FAKE_INTERRUPTS", 0));
  if (interrupted > 0) kill(interrupted, SIGINT);
  while (true) pause();
}

[[noreturn]] void grow() {
  std::vector<char*> held;
  constexpr std::size_t kBlockBytes = std::size_t{4} << 20;
  while (true) {
    held.push_back(static_cast<char*>(std::malloc(kBlockBytes)));
    std::memset(held.back(), 1, kBlockBytes);
  }
}

// Only the last rank misbehaves, so that a launcher has other ranks to end.
void misbehave(FakeBehaviour behaviour) {
  switch (behaviour) {
    case FakeBehaviour::segfault:
      std::cerr << "perfbench-engine: about to touch memory that is not there" << std::endl;
      std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would turn the signal into an exit code
      std::raise(SIGSEGV);
      break;
    case FakeBehaviour::killed:
      std::raise(SIGKILL);
      break;
    case FakeBehaviour::hang:
      hang();
    case FakeBehaviour::hang_deaf:
      std::signal(SIGTERM, SIG_IGN);
      hang();
    case FakeBehaviour::grow:
      grow();
    default:
      break;
  }
}

int finish(const fs::path& dir, const spec::RunSpec& run, FakeBehaviour behaviour, std::int64_t rank) {
  spec::RunSummary summary;
  summary.status = "ok";
  summary.steps = run.steps;
  summary.startup_ns = 1'000'000;
  summary.peak.total_bytes = summary.peak.weights_bytes = 1 << 20;
  summary.flops.feed_forward_flops = 1'000'000;
  summary.parameters = summary.matmul_parameters = 1000;
  int code = 0;
  if (behaviour == FakeBehaviour::out_of_memory) {
    summary.status = "out_of_memory";
    summary.message = "layers.0.mlpwi_0 needs 9 GiB";
    code = 5;
  } else if (behaviour == FakeBehaviour::infeasible) {
    summary.status = "infeasible";
    summary.message = "no kernel for fp8";
    code = 6;
  } else if (behaviour == FakeBehaviour::failed) {
    summary.status = "failed";
    summary.message = "cannot write steps.rank0.jsonl";
    code = 4;
  }
  if (rank == 0 && behaviour != FakeBehaviour::no_result) write_file(dir / "result.json", to_json_line(summary));
  return code;
}

// workloads/spec/turn_files.h
class Turns {
 public:
  Turns(const fs::path& folder, std::int64_t rank)
      : asks_(open((folder / spec::kTurnAsksFile).c_str(), O_RDWR)),
        go_(open((folder / spec::turn_go_file(rank)).c_str(), O_RDWR)) {}
  void wait() const {
    char byte = 't';
    if (write(asks_, &byte, 1) != 1 || read(go_, &byte, 1) != 1) std::exit(9);
  }

 private:
  int asks_;
  int go_;
};

// Keeps a core busy from now on, also during the other side's turns.
void spin() {
  std::thread([] {
    for (std::atomic<std::uint64_t> turns{0};;) ++turns;
  }).detach();
}

// A step that takes this long and computes nothing.
void rest(std::int64_t milliseconds) {
  const timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  nanosleep(&time, nullptr);
}

int run(const fs::path& dir, const fs::path& turns_folder) {
  std::ifstream in(dir / "run.json");
  const auto run_spec = spec::parse_run_json(std::string(std::istreambuf_iterator<char>(in), {}));
  const auto behaviour = static_cast<FakeBehaviour>(environment_number("PERFBENCH_FAKE_BEHAVIOUR", run_spec.seed));
  const auto rank = environment_number("OMPI_COMM_WORLD_RANK", 0);
  const bool is_last = rank + 1 == environment_number("OMPI_COMM_WORLD_SIZE", 1);
  if (rank == 0) write_file(dir / "env.json", to_json_line(environment()));
  if (std::getenv("PERFBENCH_FAKE_SPINS") != nullptr) spin();
  std::optional<Turns> turns;
  if (!turns_folder.empty()) turns.emplace(turns_folder, rank);
  std::ofstream steps(dir / ("steps.rank" + std::to_string(rank) + ".jsonl"));
  const auto count = behaviour == FakeBehaviour::partial_records ? run_spec.steps - 1 : run_spec.steps;
  for (std::int64_t step = 0; step < count; ++step) {
    if (turns) turns->wait();
    if (step == 1 && is_last) misbehave(behaviour);
    rest(environment_number("PERFBENCH_FAKE_STEP_MS", 0));
    auto record = step_record(run_spec, rank, step);
    change(record, dir);
    diverge(record, behaviour);
    steps << to_json_line(record) << std::endl;
    if (!steps) {
      std::cerr << "perfbench-engine: rank " << rank << ": cannot write the records" << std::endl;
      return 4;
    }
  }
  if (turns) turns->wait();
  return finish(dir, run_spec, behaviour, rank);
}

// Everything fits, whatever the file contains.
int dry(const char* file) {
  spec::DryReport report;
  report.parameters = report.matmul_parameters = 1000;
  report.peak.total_bytes = report.arena_bytes = environment_number("PERFBENCH_FAKE_NEEDS_BYTES", 1 << 20);
  report.flops.feed_forward_flops = 1'000'000;
  std::ifstream runs(file);
  for (std::string run; std::getline(runs, run);) std::cout << to_json_line(report) << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  const char* hangs = std::getenv("PERFBENCH_FAKE_HANGS");  // the command that never ends
  if (hangs != nullptr && command == hangs) hang();
  if (command == "env") {
    std::cout << to_json_line(environment()) << '\n';
    return 0;
  }
  const auto arguments = std::vector<std::string>(argv + std::min(argc, 2), argv + argc);
  const bool asks_for_turns = std::find(arguments.begin(), arguments.end(), "--turns") != arguments.end();
  if (asks_for_turns && std::getenv("PERFBENCH_FAKE_WITHOUT_TURNS") != nullptr) return 3;
  if (command == "check") return 0;  // it accepts every fault
  if (command == "dry" && argc > 3 && std::string(argv[2]) == "--lines") return dry(argv[argc - 1]);
  if (command == "run" && argc == 4 && arguments[0] == "--dir") return run(arguments[1], {});
  if (command == "run" && argc == 6 && arguments[0] == "--dir" && arguments[2] == "--turns") {
    return run(arguments[1], arguments[3]);
  }
  std::cerr << "usage: fake_engine env | check | dry --lines [--largest N] FILE | run --dir DIR [--turns FOLDER]\n";
  return 3;
}
