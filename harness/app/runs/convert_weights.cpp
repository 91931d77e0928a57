#include "harness/app/runs/convert_weights.h"

#include <fmt/format.h>

#include <fstream>
#include <utility>
#include <vector>

#include "harness/execute/launcher.h"
#include "harness/matrix/model_catalog.h"
#include "harness/system/files.h"
#include "harness/system/input_error.h"
#include "workloads/spec/engine_exit.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

std::string without_last_newline(std::string text) {
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string run_engine(const Installation& installation, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "weights");
  const auto end = run_process(EngineProgram{installation.engine}.request(arguments));
  if (end.succeeded()) return without_last_newline(end.output);
  const auto said = without_last_newline(end.error_output);
  if (end.exit_code == static_cast<int>(spec::EngineExit::input_error)) throw InputError("[weights] " + said);
  throw LaunchError(fmt::format("[launch] {} weights: {}", installation.engine.string(),
                                said.empty() ? fmt::format("ended by signal {}", end.signal) : said));
}

}  // namespace

std::string import_weights(const Installation& installation, const fs::path& weights, const std::string& model,
                           const fs::path& out) {
  const TemporaryFolder folder("perfbench-weights");
  const auto file = folder.path() / "model.json";
  try {
    std::ofstream(file) << spec::canonical_json(ModelCatalog(installation.data_dir()).model(model).model);
  } catch (const spec::SpecError& e) {
    throw InputError(fmt::format("[weights] --model {}: {}", model, e.what()));
  }
  return run_engine(installation, {"import", fs::absolute(weights).string(), "--model", file.string(), "--out",
                                   fs::absolute(out).string()});
}

std::string export_weights(const Installation& installation, const fs::path& checkpoint, const std::string& dtype,
                           const fs::path& out) {
  return run_engine(installation, {"export", fs::absolute(checkpoint).string(), "--dtype", dtype, "--out",
                                   fs::absolute(out).string()});
}

}  // namespace perfbench::harness
