// Answers `dry [--lines] [--largest N] FILE...` as the engine does, with counts that a test can compute: all from the
// run's seq_len and layers, and with loss_chunk_tokens as its matmul_parameters. Some values of loss_chunk_tokens make
// it misbehave:
//     66  crashes             77  exits with 4 and a message
//     88  reports infeasible  99  prints a broken report
//     555 never answers       666 prints without end
//     777 leaves a pipe in place of its output
// With remat: full one layer keeps its activations, with minimal_offloaded they are in host memory; full doubles the
// FLOPs, minimal_offloaded adds a quarter of them. Kept bf16 weights take 1 MiB more in each layer. A stage keeps the
// values of as many microbatches as there are stages. 44 layers leave gaps in the arena as large as the tensors.
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "workloads/spec/dry_counts.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/run_spec_json.h"

namespace {

using namespace perfbench;

spec::DryReport report_for(const spec::RunSpec& run) {
  spec::DryReport report;
  report.parameters = run.model.layers * 1000;
  report.matmul_parameters = run.loss_chunk_tokens;
  constexpr std::int64_t kMiB = 1 << 20;
  const bool keeps_all = run.remat != "full" && run.remat != "minimal_offloaded";
  const std::int64_t of_layer = run.seq_len * kMiB * std::min(run.mesh.pp(), run.grad_accum) / run.grad_accum;
  const std::int64_t kept = keeps_all ? run.model.layers : 1;
  for (std::int64_t layer = 0; layer < run.model.layers; ++layer) {
    const std::string prefix = "layers." + std::to_string(layer) + ".";
    if (layer < kept) {
      report.live_at_peak.push_back({prefix + "mlpwi_0", "activations", "fp32", "[2, 3]", of_layer});
    }
    report.live_at_peak.push_back({prefix + "w_up", "weights", "fp32", "[4]", kMiB});
  }
  report.peak.activations_bytes = kept * of_layer;
  const std::int64_t kept_weights = run.bf16_weights == spec::Bf16Weights::kept ? kMiB : 0;
  report.peak.weights_bytes = run.model.layers * (kMiB + kept_weights);
  report.peak.total_bytes = report.peak.activations_bytes + report.peak.weights_bytes;
  report.arena_bytes = report.peak.total_bytes * (run.model.layers == 44 ? 2 : 1);
  report.flops.feed_forward_flops = 1'234'000'000;
  if (run.remat == "full") report.flops.rematerialised_flops = 1'234'000'000;
  if (run.remat == "minimal_offloaded") {
    report.flops.rematerialised_flops = 308'500'000;
    report.offloaded_bytes = run.model.layers * run.seq_len * kMiB;
  }
  report.peak_at = {.phase = "backward", .range = "layers.0", .tensor = "layers.0.mlpwi_0"};
  // The stages of a pipeline need once, twice, ... as much as the first one; the report has the last one's need.
  for (std::int64_t stage = 0; run.mesh.pp() > 1 && stage < run.mesh.pp(); ++stage) {
    spec::StageCounts counts{.stage = stage, .rank = stage * (run.mesh.devices() / run.mesh.pp()), .layers = 1};
    counts.arena_bytes = (stage + 1) * report.arena_bytes;
    counts.traffic = {{"pp", "send", 3, 700, 700}};
    report.stages.push_back(counts);
  }
  if (!report.stages.empty()) {
    report.bubble_fraction = 0.25;
    report.rank = report.stages.back().rank;
    report.arena_bytes = report.stages.back().arena_bytes;
  }
  if (run.mesh.fsdp() > 1) report.traffic.push_back({"fsdp", "all_gather", 3, 1000, 500});
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  fmt::print("fake engine: not a report\n");
  bool in_lines = false;
  std::optional<std::size_t> largest;
  std::vector<std::string> texts;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--lines") {
      in_lines = true;
    } else if (word == "--largest") {
      largest = std::stoul(argv[++i]);
    } else {
      std::ifstream in(word);
      for (std::string line; std::getline(in, line, in_lines ? '\n' : '\0');) texts.push_back(line);
    }
  }
  for (const auto& text : texts) {
    const auto run = spec::parse_run_json(text);
    std::fflush(stdout);
    if (run.loss_chunk_tokens == 66) std::raise(SIGKILL);
    while (run.loss_chunk_tokens == 555) pause();
    while (run.loss_chunk_tokens == 666) fmt::print("of printing there is no end, of printing there is no end\n");
    if (run.loss_chunk_tokens == 777) {
      const std::string output = std::filesystem::read_symlink("/proc/self/fd/1");
      std::filesystem::remove(output);
      return ::mkfifo(output.c_str(), 0600);
    }
    if (run.loss_chunk_tokens == 77) {
      fmt::print(stderr, "out of patience\n");
      return 4;
    }
    auto report = report_for(run);
    if (run.loss_chunk_tokens == 88) report = {.feasible = false, .reason = "no kernels for this"};
    fmt::print("{}\n", run.loss_chunk_tokens == 99 ? "{\"feasible\": 3}"
                       : largest                   ? spec::to_json_line(spec::summed_up(report, *largest))
                                                   : spec::to_json_line(report));
  }
  return 0;
}
