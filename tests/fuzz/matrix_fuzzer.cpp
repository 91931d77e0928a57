// libFuzzer: any bytes as a matrix give cells or an InputError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/yaml_document.h"
#include "harness/system/input_error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace perfbench::harness;
  static const ModelCatalog kCatalog(PERFBENCH_SOURCE_DIR);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    expand(YamlDocument::parse(text, "matrix", "fuzz.yaml"), kCatalog, {});
  } catch (const InputError&) {
    return 0;
  }
  return 0;
}
