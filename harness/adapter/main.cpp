// perfbench-adapter: runs a training program other than perfbench-engine, and speaks to the harness as the engine does.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "harness/adapter/environment_facts.h"
#include "harness/adapter/program_run.h"
#include "harness/system/files.h"
#include "harness/system/place_names.h"
#include "workloads/spec/engine_exit.h"
#include "workloads/spec/record_json.h"

namespace {

using perfbench::spec::EngineExit;
using perfbench::spec::ProgramStatus;

constexpr std::string_view kUsage =
    "perfbench-adapter: one run of a training program under perfbench\n"
    "usage:\n"
    "  perfbench-adapter run --dir DIR [--turns FOLDER]   runs the program of DIR/program.json and writes into DIR:\n"
    "                                                     program.log, samples.jsonl, env.json and result.json\n"
    "  perfbench-adapter node [--env=NAME]... -- COMMAND  becomes the command, as a task of srun; {node_rank} in its "
    "words\n"
    "                                                     and in the variables NAME is the number of the node\n"
    "  perfbench-adapter check [--turns]                  whether it knows these arguments; runs nothing\n"
    "  perfbench-adapter env                              prints the facts of this machine as JSON\n"
    "exit codes: 0 the program took its steps, 3 input error, 4 it did not; never the program's own exit code\n";

void say(int stream, std::string_view text) {
  // The reader may be gone; the files of the run have the same content.
  if (!perfbench::harness::write_all(stream, text)) return;
}

int end_with(EngineExit exit, const std::string& message) {
  if (!message.empty()) say(STDERR_FILENO, "perfbench-adapter: " + message + "\n");
  return static_cast<int>(exit);
}

int usage_error(const std::string& message) {
  end_with(EngineExit::input_error, message);
  say(STDERR_FILENO, kUsage);
  return static_cast<int>(EngineExit::input_error);
}

int run(const std::vector<std::string>& arguments) {
  perfbench::adapter::RunRequest request;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    if (i + 1 == arguments.size()) return usage_error("run: " + arguments[i] + " needs a value");
    if (arguments[i] == "--dir") {
      request.dir = arguments[i + 1];
    } else if (arguments[i] == "--turns") {
      request.turns = arguments[i + 1];
    } else {
      return usage_error("run: unknown argument '" + arguments[i] + "'");
    }
  }
  if (request.dir.empty()) return usage_error("run needs --dir DIR");
  const auto result = perfbench::adapter::run_program(request);
  if (result.status == ProgramStatus::ok) return static_cast<int>(EngineExit::ok);
  const auto exit = result.status == ProgramStatus::input_error ? EngineExit::input_error : EngineExit::failed;
  return end_with(exit, result.reason);
}

// Returns only if the command cannot be started.
int become_node_program(const std::vector<std::string>& arguments) {
  const char* rank = std::getenv("SLURM_NODEID");
  if (rank == nullptr) return usage_error("node: SLURM_NODEID is not set; srun starts it");
  const auto fill = [&](const std::string& text) { return perfbench::harness::with_node_rank(text, rank); };
  constexpr std::string_view kEnv = "--env=";
  std::size_t i = 0;
  for (; i < arguments.size() && arguments[i].starts_with(kEnv); ++i) {
    const auto name = arguments[i].substr(kEnv.size());
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return usage_error("node: " + name + " is not set; srun has to pass on its environment");
    setenv(name.c_str(), fill(value).c_str(), 1);
  }
  if (i + 1 >= arguments.size() || arguments[i] != "--") return usage_error("node needs -- COMMAND");
  std::vector<std::string> words;
  for (++i; i < arguments.size(); ++i) words.push_back(fill(arguments[i]));
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_DFL);
  execvp(pointers.front(), pointers.data());
  return end_with(EngineExit::failed, "cannot start '" + words.front() + "': " + std::strerror(errno));
}

int dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return usage_error("a command is missing");
  const auto& command = arguments.front();
  if (command == "--help" || command == "-h") {
    say(STDOUT_FILENO, kUsage);
    return 0;
  }
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (command == "run") return run(rest);
  if (command == "node") return become_node_program(rest);
  if (command == "check") {
    for (const auto& argument : rest) {
      if (argument != "--turns") return usage_error("check takes only --turns");
    }
    return 0;
  }
  if (command == "env") {
    if (!rest.empty()) return usage_error("env takes no arguments");
    say(STDOUT_FILENO, perfbench::spec::to_json_line(perfbench::adapter::environment_facts({})) + "\n");
    return 0;
  }
  return usage_error("there is no command '" + command + "'");
}

}  // namespace

int main(int argc, char** argv) {
  // Makes a full disk, or a limit on file sizes, a write error that names the file.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return dispatch(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& e) {
    return end_with(EngineExit::failed, e.what());
  }
}
