// Trains one step, or computes the step's floor, for each line that it reads, so that bench_engine.py can alternate
// both with other engines in one run. `step_worker engine|floor RUN_JSON` prints "ready {...}", then answers each line
// "step" with {"step_ns": ...}.
#include <omp.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "engine/metrics/environment.h"
#include "engine/metrics/noise_probe.h"
#include "engine/metrics/record_files.h"
#include "engine/train/assembly.h"
#include "tests/benchmarks/floor_ops.h"
#include "workloads/spec/run_spec_json.h"

namespace {

using namespace perfbench;
using namespace perfbench::engine;

// OpenMP workers spin for some 20 ms after their last loop. The answer waits until they sleep, so that the next
// measurement does not share its cores with them.
constexpr auto kSettle = std::chrono::milliseconds(50);

void answer(const std::string& line) {
  std::this_thread::sleep_for(kSettle);
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

std::string phases(const spec::StepRecord& r) {
  return "\"forward_ns\":" + std::to_string(r.forward_ns) + ",\"backward_ns\":" + std::to_string(r.backward_ns) +
         ",\"optimizer_ns\":" + std::to_string(r.optimizer_ns);
}

int serve(const spec::RunSpec& run, bool floor) {
  const int threads = omp_get_max_threads();
  Backend backend;
  backend.device_memory = floor ? make_dry_backing() : make_cpu_backing();
  backend.host_memory = floor ? make_dry_backing() : make_cpu_backing();
  backend.collectives = make_single_collectives();
  backend.ops = floor ? make_floor_ops() : make_cpu_ops();
  RunData data;
  if (!floor) data.tokens = make_synthetic_tokens(run);
  Assembly assembly(run, std::move(backend), {.data = std::move(data)});
  std::printf("ready {\"threads\":%d}\n", threads);
  std::fflush(stdout);
  std::int64_t step = 0;
  for (std::string line; std::getline(std::cin, line) && line == "step"; ++step) {
    const auto probe_ns = probe_noise(threads);
    const auto record = assembly.trainer().step(step);
    answer("{\"step_ns\":" + std::to_string(record.wall_ns) + "," + phases(record) + ",\"probe_ns\":" +
           std::to_string(probe_ns) + ",\"peak_rss_bytes\":" + std::to_string(peak_resident_bytes()) +
           ",\"model_flops\":" + std::to_string(assembly.context().ops.flops().model_flops() / (step + 1)) + "}");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 3 ? argv[1] : "";
  if (mode != "engine" && mode != "floor") {
    std::fprintf(stderr, "usage: step_worker engine|floor RUN_JSON\n");
    return 3;
  }
  try {
    return serve(spec::parse_run_json(read_whole_file(argv[2])), mode == "floor");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "step_worker: %s\n", e.what());
    return 4;
  }
}
