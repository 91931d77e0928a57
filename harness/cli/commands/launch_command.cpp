// perfbench launch: writes the files that submit the cells of a matrix to a scheduler.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "harness/app/sweep/checks.h"
#include "harness/app/sweep/launch_files.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/evidence/output_file.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

constexpr double kLongestJobS = 365 * 86400.0;

struct LaunchCommand {
  LaunchFilesRequest request;
  std::vector<std::string> resources;  // NAME=COUNT
  std::filesystem::path into;
};

std::optional<std::pair<std::string, std::int64_t>> parse_resource(const std::string& words) {
  const auto equals = words.find('=');
  if (equals == 0 || equals == std::string::npos) return std::nullopt;
  const auto count = whole_number_text<std::int64_t>(words.substr(equals + 1));
  if (!count || *count < 0) return std::nullopt;
  return std::pair(words.substr(0, equals), *count);
}

void write_files(const std::vector<LaunchFile>& files, const std::filesystem::path& into) {
  require_writable_folder("[launch] --into", into);
  std::filesystem::create_directories(into);
  for (const auto& file : files) {
    write_output(into / file.name, file.text);
    reports::print("{}\n", (into / file.name).string());
  }
}

ExitCode launch(LaunchCommand& options, const Installation& installation) {
  for (const auto& words : options.resources) options.request.file.resources.insert(*parse_resource(words));
  const auto out = launch_files(options.request, installation);
  for (const auto& refused : out.refused) reports::print(stderr, "note: left out, {}\n", refused);
  if (out.files.empty()) {
    reports::print(stderr, "[launch] no cell has a launch file\n");
    return ExitCode::usage;
  }
  if (!options.into.empty()) {
    write_files(out.files, options.into);
    return ExitCode::fine;
  }
  // Documents of YAML can follow each other. Each of several scripts begins with its name.
  const bool is_yaml = out.files.front().name.ends_with(".yaml");
  for (const auto& file : out.files) {
    if (&file != out.files.data()) reports::print_text(stdout, is_yaml ? "---\n" : "\n");
    if (out.files.size() > 1 && !is_yaml) reports::print("### {}\n", file.name);
    reports::print_text(stdout, file.text);
  }
  return ExitCode::fine;
}

CLI::Option* add_word(CLI::App& command, const std::string& name, std::string& value, const std::string& type,
                      const std::string& help) {
  return command.add_option(name, value, help)->type_name(type);
}

void add_job_options(CLI::App& command, LaunchCommand& options) {
  auto& file = options.request.file;
  add_word(command, "--image", file.image, "IMAGE", "image with the program, or else with perfbench");
  add_amount(
      command, "--time", kDuration, {.factor = 1, .name = "seconds"},
      {.bounds = {1, kLongestJobS}, .shown_bounds = "from 1s to a year"},
      [&file](double seconds) { file.time_limit_s = seconds; }, "time limit of the job");
  add_path(command, "--checkout", options.request.checkout, PathIs::folder,
           "the program's checkout where the job runs, {repo} and {cwd}; default: that of --program-repo, and in an "
           "image the "
           "image's working directory");
  add_word(command, "--partition", file.partition, "NAME", "partition of Slurm");
  command
      .add_option("--launch-option", file.options,
                  "one more word for sbatch, docker run or xpk workload create; may be repeated")
      ->type_name("WORD")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_word(command, "--queue", file.queue, "NAME", "queue of Kueue");
  add_word(command, "--secret", file.secret, "NAME", "Secret of Kubernetes with the variables that the program needs");
  add_word(command, "--claim", file.claim, "NAME", "PersistentVolumeClaim of Kubernetes that keeps the results");
  const auto complain = [](const std::string& words) {
    return parse_resource(words) ? std::string()
                                 : "'" + words + "': NAME=COUNT is needed, such as vpc.amazonaws.com/efa=32";
  };
  command.add_option("--resource", options.resources, "resource of a Kubernetes node beside its GPUs; may be repeated")
      ->type_name("NAME=COUNT")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::Validator(complain, ""));
  add_word(command, "--cluster", file.cluster, "NAME", "cluster of XPK");
  add_word(command, "--device-type", file.device_type, "NAME", "type of XPK's nodes, such as h100-80gb-8");
}

}  // namespace

void add_launch(CLI::App& app, CommandContext& context) {
  auto* command =
      app.add_subcommand("launch", "Writes the files that submit cells to Slurm, Kubernetes, XPK or docker");
  auto options = std::make_shared<LaunchCommand>();
  add_matrix_options(*command, options->request.matrix);
  add_program_options(*command, options->request.matrix.program);
  add_enum_option(*command, "--render", options->request.file.form, "form of the files")->required();
  add_job_options(*command, *options);
  add_path(*command, "--into", options->into, PathIs::folder, "folder for one file a cell; default: standard output");
  command->footer(
      "It submits nothing. A job of a training program needs the program's image alone, and one of perfbench-engine "
      "runs\n"
      "`perfbench sweep`. `perfbench sweep --launcher` is for jobs that this perfbench waits for.\n"
      "Examples:\n"
      "  perfbench launch --render slurm maxtext --program maxtext --only remat=minimal_flash --image "
      "ghcr.io/nvidia/jax:maxtext\n"
      "  perfbench launch --render jobset maxtext --program maxtext --image IMAGE --claim results --into jobs\n"
      "  perfbench launch --render slurm quickstart --time 20m\n"
      "Exit codes: 0 success; 3 wrong input, or no cell can have a file; 4 a file cannot be written.");
  command->callback([options, &context] { context.exit_code = launch(*options, context); });
}

}  // namespace perfbench::harness
