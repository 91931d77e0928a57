// perfbench weights: reads and writes weights in files of other frameworks.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "harness/app/runs/convert_weights.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/options.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

struct WeightsImport {
  std::filesystem::path weights;
  std::filesystem::path out;
  std::string model;
};

struct WeightsExport {
  std::filesystem::path checkpoint;
  std::filesystem::path out;
  std::string dtype = "f32";
};

void add_weights_import(CLI::App& weights, CommandContext& context) {
  auto* command = weights.add_subcommand("import", "Makes a checkpoint of step 0 from safetensors of Hugging Face");
  auto options = std::make_shared<WeightsImport>();
  add_path(*command, "WEIGHTS", options->weights, PathIs::either, "a .safetensors file, or the folder of a model")
      ->required();
  command->add_option("--model", options->model, "their model: a name, or its YAML file")
      ->type_name("MODEL")
      ->required();
  add_path(*command, "--out", options->out, PathIs::folder, "new or empty folder for the checkpoint")->required();
  command->footer(
      "Runs start from it with checkpoint.restore. Names, shapes and the order of rotated rows are those of "
      "transformers'\n"
      "GPT-2, Llama, Qwen2, Qwen3, Mixtral and Qwen3-MoE; other models are refused.\n"
      "Examples:\n"
      "  perfbench weights import Llama-3.2-1B --model llama3.2-1b --out pretrained\n"
      "Exit codes: 0 success; 3 wrong input; 4 the folder cannot be written.");
  command->callback([options, &context] {
    reports::print("{}\n", import_weights(context, options->weights, options->model, options->out));
    context.exit_code = ExitCode::fine;
  });
}

void add_weights_export(CLI::App& weights, CommandContext& context) {
  auto* command =
      weights.add_subcommand("export", "Writes the weights of a checkpoint as safetensors, with a config.json");
  auto options = std::make_shared<WeightsExport>();
  add_path(*command, "CHECKPOINT", options->checkpoint, PathIs::folder, "a checkpoint, or a folder of them: its newest")
      ->required();
  add_name_option(
      *command, "--dtype", {"f32", "bf16"}, [options](const std::string& name) { options->dtype = name; },
      "type of the weights in the file; bf16: rounded to nearest");
  add_path(*command, "--out", options->out, PathIs::folder, "new or empty folder for model.safetensors and config.json")
      ->required();
  command->footer(
      "Examples:\n"
      "  perfbench weights export kept --out trained\n"
      "  perfbench weights export kept/step_00000200 --dtype bf16 --out trained\n"
      "Exit codes: 0 success; 3 wrong input; 4 the folder cannot be written.");
  command->callback([options, &context] {
    reports::print("{}\n", export_weights(context, options->checkpoint, options->dtype, options->out));
    context.exit_code = ExitCode::fine;
  });
}

}  // namespace

void add_weights(CLI::App& app, CommandContext& context) {
  auto* weights = app.add_subcommand("weights", "Converts weights from and to files of other frameworks");
  weights->require_subcommand(1);
  add_weights_import(*weights, context);
  add_weights_export(*weights, context);
}

}  // namespace perfbench::harness
