#include "harness/execute/machine_facts.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "harness/execute/launcher.h"
#include "harness/execute/machine_load.h"
#include "harness/execute/process.h"
#include "harness/system/environment_variables.h"
#include "harness/system/parallel_ranges.h"
#include "workloads/spec/node_limits.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/spec_error.h"

extern char** environ;

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

constexpr auto kEngineTime = std::chrono::seconds(60);

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string first_word(const fs::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

std::int64_t kilobytes(const std::string& text, const std::string& key) {
  const auto at = text.find(key + ":");
  return at == std::string::npos ? 0 : std::strtoll(text.c_str() + at + key.size() + 1, nullptr, 10) * 1024;
}

std::string turbo_state(const fs::path& root) {
  const auto no_turbo = first_word(root / "sys/devices/system/cpu/intel_pstate/no_turbo");
  if (!no_turbo.empty()) return no_turbo == "0" ? "on" : "off";
  const auto boost = first_word(root / "sys/devices/system/cpu/cpufreq/boost");
  if (!boost.empty()) return boost == "0" ? "off" : "on";
  return "unknown";
}

std::vector<std::string> launcher_variables() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (const auto name = text.substr(0, text.find('=')); is_launcher_variable(name)) out.emplace_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// The "probe_ns" of each line that `perfbench-engine probe` prints.
std::vector<double> probe_times(const std::string& output) {
  constexpr std::string_view kKey = "\"probe_ns\":";
  std::vector<double> times;
  for (auto at = output.find(kKey); at != std::string::npos; at = output.find(kKey, at + 1)) {
    times.push_back(std::strtod(output.c_str() + at + kKey.size(), nullptr));
  }
  return times;
}

void ask_engine(const EngineProgram& engine, MachineFacts& facts) {
  auto answer = ask_engine_environment(engine);
  facts.engine = std::move(answer.facts);
  facts.engine_error = std::move(answer.error);
  if (!facts.engine) return;
  try {
    const auto probe = run_process(engine.request({"probe", "--count", "30"}), {.time_limit = kEngineTime});
    if (probe.succeeded()) facts.probe_ns = probe_times(probe.output);
  } catch (const LaunchError& e) {
    facts.engine_error = e.what();
  }
}

}  // namespace

EngineAnswer ask_engine_environment(const EngineProgram& engine, int cancel_fd) {
  try {
    const auto answer = run_process(engine.request({"env"}), {.time_limit = kEngineTime, .cancel_fd = cancel_fd});
    if (answer.cause == EndCause::cancelled)
      throw Cancelled("[doctor] cancelled while the engine was queried about this machine");
    if (answer.succeeded()) return {spec::parse_environment(answer.output), ""};
    return {{}, "'" + engine.file.string() + " env' ended with exit code " + std::to_string(answer.exit_code)};
  } catch (const LaunchError& e) {
    return {{}, e.what()};
  } catch (const spec::SpecError& e) {
    return {{}, "'" + engine.file.string() + " env' printed something else: " + e.what()};
  }
}

MachineFacts collect_facts(const FactQuery& query) {
  MachineFacts facts;
  const auto meminfo = text_of(query.root / "proc/meminfo");
  facts.swap_used_bytes = kilobytes(meminfo, "SwapTotal") - kilobytes(meminfo, "SwapFree");
  facts.load_1m = std::strtod(first_word(query.root / "proc/loadavg").c_str(), nullptr);
  facts.virtual_machine = text_of(query.root / "proc/cpuinfo").find(" hypervisor") != std::string::npos;
  facts.clock_source = first_word(query.root / "sys/devices/system/clocksource/clocksource0/current_clocksource");
  facts.turbo = turbo_state(query.root);
  facts.cpu_quota = spec::cgroup_cpu_quota(query.root);
  facts.memory_limit_bytes = spec::cgroup_memory_limit_bytes(query.root);
  std::error_code ignored;
  facts.cuda_device = fs::exists(query.root / "dev/nvidia0", ignored);
  facts.mpirun = find_mpirun().has_value();
  facts.launcher_variables = launcher_variables();
  const auto space = fs::space(query.disk, ignored);
  facts.disk_free_bytes = ignored ? 0 : static_cast<std::int64_t>(space.available);
  facts.shared_cores = first_word(query.root / "sys/devices/system/cpu/smt/active") == "1";
  const auto before = read_cpu_snapshot(query.root);
  ask_engine(query.engine, facts);
  facts.activity = activity_between(before, read_cpu_snapshot(query.root), ::getpid());
  return facts;
}

}  // namespace perfbench::harness
