// program.json: a training program other than perfbench-engine, resolved. The harness writes it, and perfbench-adapter
// starts the program. Commands are lists of arguments and never shell strings.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "workloads/spec/fields.h"

namespace perfbench::spec {

// The files of a program's run directory, beside env.json and attempt.json.
inline constexpr const char* kProgramFile = "program.json";
inline constexpr const char* kSamplesFile = "samples.jsonl";   // a Sample a line, in order of arrival
inline constexpr const char* kProgramLogFile = "program.log";  // the program's output, up to a limit
inline constexpr const char* kCopiesFolder = "files";          // copies of its metric files
// PERFBENCH_SAMPLES: the program appends samples to it
inline constexpr const char* kHookFile = "program_samples.jsonl";

// Environment variables that are set for the program.
inline constexpr const char* kSamplesVariable = "PERFBENCH_SAMPLES";
inline constexpr const char* kTurnsVariable = "PERFBENCH_TURNS";
inline constexpr const char* kUnbufferedVariable = "PYTHONUNBUFFERED";  // makes each line arrive when it is printed

// Names of facts about a program. A fact with another name is the version of what it names, such as torch.
inline constexpr const char* kCommitFact = "repo.commit";
inline constexpr const char* kChangesFact = "repo.changes";   // digest of uncommitted changes; absent: there are none
inline constexpr const char* kUnknownFact = "unknown";        // changes or packages that could not be found out
inline constexpr const char* kFileFacts = "file.";            // + the name of a file that the command names: its digest
inline constexpr const char* kPackagesFact = "packages";      // digest of the Python packages with their versions
inline constexpr const char* kImageFact = "container.image";  // the id of the image, as the runtime says it
inline constexpr const char* kProgramFact = "program";        // the name in the program file (workloads/programs)

enum class Better { neither, lower, higher };
template <>
struct EnumNames<Better> {
  static constexpr std::array kNames{std::pair{Better::neither, "neither"}, std::pair{Better::lower, "lower"},
                                     std::pair{Better::higher, "higher"}};
};

enum class Take { each, last };
template <>
struct EnumNames<Take> {
  static constexpr std::array kNames{std::pair{Take::each, "each"}, std::pair{Take::last, "last"}};
};

enum class Restarts { refused, allowed };
template <>
struct EnumNames<Restarts> {
  static constexpr std::array kNames{std::pair{Restarts::refused, "refused"}, std::pair{Restarts::allowed, "allowed"}};
};

enum class LaunchedBy { program, mpirun, srun };
template <>
struct EnumNames<LaunchedBy> {
  static constexpr std::array kNames{std::pair{LaunchedBy::program, "program"}, std::pair{LaunchedBy::mpirun, "mpirun"},
                                     std::pair{LaunchedBy::srun, "srun"}};
};

enum class ContainerRuntime { podman, docker };
template <>
struct EnumNames<ContainerRuntime> {
  static constexpr std::array kNames{std::pair{ContainerRuntime::podman, "podman"},
                                     std::pair{ContainerRuntime::docker, "docker"}};
};

// A metric that a user declares. It has a regex for the log, or a key for files of formats jsonl, csv and tensorboard.
struct DeclaredMetric {
  std::string regex;       // RE2; its group `value` is the number, and `step`, if there is one, the step
  std::string key;         // a key of a JSON object, a CSV column or a TensorBoard tag
  std::string unit = "1";  // unit in which it is printed: ms, GiB, %, ...
  Better better = Better::neither;
  double margin = 0;  // 0: not declared
  Take take = Take::each;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"regex", "finds it in a line; group `value` is the number"}.omitted_at_default(), self.regex);
    f(Field{"key", "names it in a file"}.omitted_at_default(), self.key);
    f(Field{"unit", "in which the program gives it"}, self.unit);
    f(Field{"better", "which way is better"}.omitted_at_default(), self.better);
    f(Field{"margin", "largest difference that does not matter, as a fraction", 0.0, 1.0}.omitted_at_default(),
      self.margin);
    f(Field{"take", "every value, or the last one"}.omitted_at_default(), self.take);
  }
};

struct MetricFile {
  std::string path;    // its last part may have * and ?, and must then name exactly one file
  std::string format;  // a reader of files: maxtext_jsonl, jsonl, csv, hf_state, tensorboard, ...

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{.name = "path", .help = "file that the program writes", .presence = Presence::required}, self.path);
    f(Field{.name = "format", .help = "reader of the file", .presence = Presence::required}, self.format);
  }
};

struct FinishedWhen {
  std::int64_t exit = 0;
  std::string line;  // empty: no line is needed

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"exit", "exit code of a run that ended well", 0, 255}, self.exit);
    f(Field{"line", "text that the log of such a run has"}.omitted_at_default(), self.line);
  }
};

// The processes of a program that starts one for each rank, and cannot start them itself.
struct ProgramRanks {
  LaunchedBy launched_by = LaunchedBy::program;
  std::string count;  // a template such as {devices}; empty if the program starts its processes itself

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"launched_by", "what starts the ranks"}, self.launched_by);
    f(Field{"count", "number of ranks"}.omitted_at_default(), self.count);
  }
};

// The container in which the command runs. The image must be on the machine.
struct ProgramContainer {
  std::string image;  // empty: the command runs without a container
  ContainerRuntime runtime = ContainerRuntime::podman;
  std::vector<std::string> options;  // of `podman run` or `docker run`, such as --device=nvidia.com/gpu=all

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"image", "image that has the program"}.omitted_at_default(), self.image);
    f(Field{"runtime", "program that runs containers"}.omitted_at_default(), self.runtime);
    f(Field{"options", "further options of its command 'run'"}.omitted_at_default(), self.options);
  }
};

// The facts that a reader needs to turn rates into step times. 0: not declared.
struct StepWork {
  double tokens_per_device = 0;
  double samples = 0;
  std::int64_t log_interval = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"tokens_per_device", "tokens of a step on each device", 0.0}.omitted_at_default(), self.tokens_per_device);
    f(Field{"samples", "sequences of a step on all devices", 0.0}.omitted_at_default(), self.samples);
    f(Field{"log_interval", "steps between two records that do not say their step", 0, 1e6}.omitted_at_default(),
      self.log_interval);
  }
};

struct ProgramSpec {
  std::int64_t version = 1;
  std::vector<std::string> command;
  std::map<std::string, std::string> env;  // added to the inherited environment
  std::vector<std::string> needs;          // variables that must be set in the environment
  std::string workdir;                     // empty: the run directory
  std::string reader;                      // reader of the log; empty: no reader
  std::map<std::string, DeclaredMetric> metrics;
  std::vector<MetricFile> files;
  std::int64_t steps = 0;      // number that a whole run takes; 0: not declared
  std::int64_t drop = 0;       // the first steps that no timing includes, at least
  ProgramRanks ranks;          // when the run starts, the command begins with the launcher
  ProgramContainer container;  // likewise
  FinishedWhen finished;
  Restarts restarts = Restarts::refused;
  bool deterministic = false;
  bool turns = false;  // the program calls the hook for turns
  StepWork work;
  std::map<std::string, std::string> facts;  // about the environment: commit, image digest, package versions

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"version", "version of this record", 1, 1}, self.version);
    f(Field{.name = "command", .help = "program and arguments", .presence = Presence::required}, self.command);
    f(Field{"env", "environment variables that are added"}.omitted_at_default(), self.env);
    f(Field{"needs", "environment variables that must be set"}.omitted_at_default(), self.needs);
    f(Field{"workdir", "working directory; empty: the run directory"}.omitted_at_default(), self.workdir);
    f(Field{"reader", "reader of the log"}.omitted_at_default(), self.reader);
    f(Field{"metrics", "metrics declared for this program"}.omitted_at_default(), self.metrics);
    f(Field{"files", "metric files that the program writes"}.omitted_at_default(), self.files);
    f(Field{"steps", "steps of a whole run; 0: not declared", 0}.omitted_at_default(), self.steps);
    f(Field{"drop", "first steps that no timing counts", 0}.omitted_at_default(), self.drop);
    f(Field{"ranks", "processes of the program"}.omitted_at_default(), self.ranks);
    f(Field{"container", "container in which it runs"}.omitted_at_default(), self.container);
    f(Field{"finished", "how a run that ended well is known"}.omitted_at_default(), self.finished);
    f(Field{"restarts", "whether steps may be taken twice"}.omitted_at_default(), self.restarts);
    f(Field{"deterministic", "equal runs compute equal bits"}.omitted_at_default(), self.deterministic);
    f(Field{"turns", "the program calls the hook for turns"}.omitted_at_default(), self.turns);
    f(Field{"work", "what a step works on"}.omitted_at_default(), self.work);
    f(Field{"facts", "facts of the environment that the harness found"}.omitted_at_default(), self.facts);
  }
};

}  // namespace perfbench::spec
