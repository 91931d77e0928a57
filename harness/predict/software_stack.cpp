#include "harness/predict/software_stack.h"

#include <algorithm>
#include <system_error>

#include "harness/matrix/yaml_document.h"
#include "harness/system/input_error.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::predict {

std::map<std::string, SoftwareStack> load_stacks(const std::filesystem::path& data_dir) {
  const auto folder = data_dir / "workloads" / "predictor" / "stacks";
  std::map<std::string, SoftwareStack> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".yaml") continue;
    const auto document = harness::YamlDocument::load(entry.path(), "stack");
    const auto name = entry.path().stem().string();
    try {
      auto stack = spec::fields_from_json<SoftwareStack>(document.root(), spec::Missing::takes_default);
      if (stack.name != name)
        throw spec::SpecError("/name", "the file is '" + name + "', its stack '" + stack.name + "'");
      out.emplace(name, std::move(stack));
    } catch (const spec::SpecError& e) {
      throw document.error(e);
    }
  }
  if (error) throw harness::InputError("[stack] " + folder.string() + ": cannot be listed: " + error.message());
  return out;
}

}  // namespace perfbench::predict
