// The command weights: converts between checkpoints and the weight files of other tools.
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "engine/main/commands.h"
#include "engine/metrics/record_files.h"
#include "engine/weights/convert.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::engine {
namespace {

namespace fs = std::filesystem;

struct WeightsArguments {
  std::string what;  // import or export
  fs::path from;
  fs::path out;
  fs::path model;  // for import: a file with the model as JSON
  WeightType type = WeightType::f32;
};

WeightType named_type(const std::string& name) {
  if (name == "f32") return WeightType::f32;
  if (name == "bf16") return WeightType::bf16;
  throw UsageError("weights: --dtype is f32 or bf16, found '" + name + "'");
}

WeightsArguments parse_weights_arguments(const std::vector<std::string>& args) {
  if (args.size() < 2 || (args[0] != "import" && args[0] != "export")) {
    throw UsageError("weights needs import or export, and a path to read");
  }
  WeightsArguments out{.what = args[0], .from = args[1], .out = {}, .model = {}};
  for (std::size_t i = 2; i < args.size(); i += 2) {
    if (i + 1 == args.size()) throw UsageError("weights: " + args[i] + " needs a value");
    if (args[i] == "--out") {
      out.out = args[i + 1];
    } else if (args[i] == "--model" && out.what == "import") {
      out.model = args[i + 1];
    } else if (args[i] == "--dtype" && out.what == "export") {
      out.type = named_type(args[i + 1]);
    } else {
      throw UsageError("weights " + out.what + ": unknown argument '" + args[i] + "'");
    }
  }
  if (out.out.empty()) throw UsageError("weights needs --out FOLDER");
  if (out.what == "import" && out.model.empty()) throw UsageError("weights import needs --model FILE");
  return out;
}

spec::ModelSpec read_model(const fs::path& file) {
  try {
    return spec::parse_model_json(read_whole_file(file));
  } catch (const spec::SpecError& e) {
    throw BadInput(file.string() + ": " + e.what());
  }
}

}  // namespace

EngineExit weights_command(const std::vector<std::string>& args) {
  const auto arguments = parse_weights_arguments(args);
  const auto done = arguments.what == "import"
                        ? import_weights(arguments.from, read_model(arguments.model), arguments.out)
                        : export_weights(arguments.from, arguments.out, arguments.type);
  std::printf("%s\n", done.c_str());
  return EngineExit::ok;
}

}  // namespace perfbench::engine
