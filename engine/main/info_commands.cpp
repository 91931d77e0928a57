// The commands dry, check, env and probe, which tell what the engine knows without training.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <sstream>
#include <type_traits>
#include <utility>

#include "engine/faults/faults.h"
#include "engine/main/arguments.h"
#include "engine/main/commands.h"
#include "engine/main/machine_facts.h"
#include "engine/metrics/noise_probe.h"
#include "engine/metrics/record_files.h"
#include "engine/train/dry_walk.h"
#include "workloads/spec/dry_counts.h"
#include "workloads/spec/operation_work.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::engine {
namespace {

// The report of `walk` for a run, or the reason why there is none. `place` is the file, with the line if it holds
// several runs.
template <class Walk>
auto walk_text(const std::string& text, const std::string& place, std::int64_t rank, const Walk& walk) {
  using Report = std::invoke_result_t<Walk, const spec::RunSpec&, std::int64_t>;
  try {
    const auto run = spec::parse_run_json(text);
    if (rank >= run.mesh.devices()) {
      throw BadInput("rank " + std::to_string(rank) + " is outside a mesh of " + std::to_string(run.mesh.devices()));
    }
    return walk(run, rank);
  } catch (const spec::SpecError& e) {
    Report report;
    report.feasible = false;
    report.reason = place + " " + e.pointer() + ": " + e.what();
    report.rank = rank;
    return report;
  }
}

void print_line(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}

struct DryOptions {
  std::optional<std::int64_t> rank;  // if absent: the rank that needs the most memory
  std::optional<std::int64_t> largest;
  bool operations = false;
  OperationRows rows = OperationRows::whole;
  bool lines = false;  // each line of the file is a run
  std::vector<std::string> files;
};

DryOptions parse_dry_options(const std::vector<std::string>& args) {
  DryOptions out;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--rank") {
      if (i + 1 == args.size()) throw UsageError("--rank needs a number");
      out.rank = number_argument("--rank", args[++i], 0);
    } else if (args[i] == "--largest") {
      if (i + 1 == args.size()) throw UsageError("--largest needs a number");
      out.largest = number_argument("--largest", args[++i], 0);
    } else if (args[i] == "--operations") {
      out.operations = true;
    } else if (args[i] == "--forms") {
      out.rows = OperationRows::by_form;
    } else if (args[i] == "--lines") {
      out.lines = true;
    } else if (args[i].starts_with("-")) {
      throw UsageError("dry has no option '" + args[i] + "'");
    } else {
      out.files.push_back(args[i]);
    }
  }
  if (out.files.empty()) throw UsageError("dry needs at least one run.json");
  if (out.operations && out.largest) throw UsageError("--operations lists no tensors; leave out --largest");
  if (out.rows == OperationRows::by_form && !out.operations) throw UsageError("--forms is for --operations");
  return out;
}

// The parts of the report that not every caller needs and that double the time of the walk.
void list_more(const spec::RunSpec& run, spec::DryReport& report) {
  constexpr std::size_t kGroupsOfAStage = 8;
  report.course = memory_course(run, report.rank);
  for (auto& stage : report.stages) {
    stage.largest = spec::group_tensors(dry_walk(run, stage.rank).live_at_peak);
    stage.largest.resize(std::min(stage.largest.size(), kGroupsOfAStage));
  }
}

void print_walk(const std::string& text, const std::string& place, const DryOptions& options) {
  if (options.operations) {
    const auto count = [&](const spec::RunSpec& run, std::int64_t rank) {
      return count_operations(run, rank, options.rows);
    };
    print_line(spec::to_json_line(walk_text(text, place, options.rank.value_or(0), count)));
    return;
  }
  auto report = walk_text(text, place, options.rank.value_or(0), [&](const spec::RunSpec& run, std::int64_t rank) {
    auto found = options.rank ? dry_walk(run, rank) : dry_walk_of_worst(run);
    if (!options.largest && found.peak.total_bytes > 0) list_more(run, found);
    return found;
  });
  print_line(options.largest
                 ? spec::to_json_line(spec::summed_up(std::move(report), static_cast<std::size_t>(*options.largest)))
                 : spec::to_json_line(report));
}

}  // namespace

EngineExit dry_command(const std::vector<std::string>& args) {
  const DryOptions options = parse_dry_options(args);
  for (const auto& file : options.files) {
    const auto text = read_whole_file(file);
    if (!options.lines) {
      print_walk(text, file, options);
      continue;
    }
    std::istringstream lines(text);
    std::int64_t number = 0;
    for (std::string line; std::getline(lines, line);) {
      print_walk(line, file + ":" + std::to_string(++number), options);
    }
  }
  return EngineExit::ok;
}

EngineExit check_command(const std::vector<std::string>& args) {
  std::vector<std::string> faults;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--turns") continue;  // an argument without value: this engine supports turns
    if (args[i] != "--inject" || i + 1 == args.size()) throw UsageError("check takes only --turns and --inject FAULT");
    faults.push_back(args[++i]);
  }
  make_faults(faults, spec::Device::cpu);
  return EngineExit::ok;
}

EngineExit env_command(const std::vector<std::string>& args) {
  if (!args.empty()) throw UsageError("env takes no arguments");
  print_line(spec::to_json_line(machine_facts(1, resolved_threads(0, 1))));
  return EngineExit::ok;
}

EngineExit probe_command(const std::vector<std::string>& args) {
  std::int64_t count = 20;
  if (args.size() == 2 && args[0] == "--count") {
    count = number_argument("--count", args[1], 1);
  } else if (!args.empty()) {
    throw UsageError("probe takes only --count N");
  }
  const auto threads = static_cast<int>(resolved_threads(0, 1));
  for (std::int64_t i = 0; i < count; ++i) {
    print_line("{\"probe_ns\":" + std::to_string(probe_noise(threads)) + ",\"threads\":" + std::to_string(threads) +
               "}");
  }
  return EngineExit::ok;
}

}  // namespace perfbench::engine
