// perfbench-engine: reads one resolved run.json, trains, writes records. Errors that a command does not report itself
// (run_command.cpp writes them to result.json for the harness) end here as a message and an exit code.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/error.h"
#include "engine/main/commands.h"

namespace {

using perfbench::engine::EngineExit;

constexpr std::string_view kUsage =
    "perfbench-engine: one training run of perfbench\n"
    "usage:\n"
    "  perfbench-engine run --dir DIR       trains DIR/run.json and writes its records into DIR;\n"
    "                                       under mpirun for a mesh of several ranks\n"
    "        [--turns FOLDER]               takes each step when the FIFOs in it say so "
    "(workloads/spec/turn_files.h)\n"
    "        [--inject FAULT]...            only perfbench-engine-inject: injects a fault "
    "(engine/faults/faults.h)\n"
    "  perfbench-engine dry [--rank R] [--largest N] [--lines] FILE...   prints memory, FLOPs and traffic of each\n"
    "                                       run.json, a JSON line each; with its N largest kinds of tensors in place\n"
    "                                       of every tensor. --lines: each FILE has a run.json on every line\n"
    "  perfbench-engine dry --operations [--forms] [--rank R] [--lines] FILE...   prints calls, FLOPs and bytes of a "
    "step's\n"
    "                                       operations, a JSON line for each run.json. --forms: by the sizes of "
    "products\n"
    "                                       and attention, and by type\n"
    "  perfbench-engine check [--turns] [--inject FAULT]...   tells whether it supports these; runs nothing\n"
    "  perfbench-engine env                 prints the facts of this machine and build as JSON\n"
    "  perfbench-engine overhead --dir DIR [--rounds N]   the time of steps of DIR/run.json without a watcher, with "
    "the span "
    "recorder,\n"
    "                                       with CUPTI and with NVML, in turn; a JSON line each\n"
    "  perfbench-engine probe [--count N]   times the noise probe N times, a JSON line each\n"
    "  perfbench-engine weights import WEIGHTS --model MODEL.json --out FOLDER   a checkpoint of step 0 from "
    "safetensors\n"
    "  perfbench-engine weights export CHECKPOINT --out FOLDER [--dtype f32|bf16]   safetensors of a checkpoint\n"
    "exit codes: 0 ok, 3 input error, 4 failed, 5 out of memory, 6 infeasible\n";

int usage_error(const std::string& message) {
  std::fprintf(stderr, "perfbench-engine: %s\n%.*s", message.c_str(), static_cast<int>(kUsage.size()), kUsage.data());
  return static_cast<int>(EngineExit::input_error);
}

int dispatch(const std::vector<std::string>& args) {
  namespace engine = perfbench::engine;
  if (args.empty()) return usage_error("a command is missing");
  if (args[0] == "--help" || args[0] == "-h") {
    std::fwrite(kUsage.data(), 1, kUsage.size(), stdout);
    return 0;
  }
  const std::vector<std::string> rest(args.begin() + 1, args.end());
  // Exceeding the limit on file sizes is then an error of the write, which names the file. The harness limits the
  // output of `dry` in this way and expects the signal (harness/plan/dry_engine.h).
  if (args[0] != "dry") std::signal(SIGXFSZ, SIG_IGN);
  if (args[0] == "run") return static_cast<int>(engine::run_command(rest));
  if (args[0] == "dry") return static_cast<int>(engine::dry_command(rest));
  if (args[0] == "check") return static_cast<int>(engine::check_command(rest));
  if (args[0] == "env") return static_cast<int>(engine::env_command(rest));
  if (args[0] == "overhead") return static_cast<int>(engine::overhead_command(rest));
  if (args[0] == "probe") return static_cast<int>(engine::probe_command(rest));
  if (args[0] == "weights") return static_cast<int>(engine::weights_command(rest));
  return usage_error("unknown command '" + args[0] + "'");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return dispatch(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const perfbench::engine::UsageError& e) {
    return usage_error(e.what());
  } catch (const perfbench::engine::EngineError& e) {
    std::fprintf(stderr, "perfbench-engine: %s\n", e.what());
    return static_cast<int>(e.exit());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "perfbench-engine failed: %s\n", e.what());
    return static_cast<int>(EngineExit::failed);
  }
}
