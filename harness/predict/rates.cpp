#include "harness/predict/rates.h"

#include <fmt/format.h>

#include "harness/matrix/model_catalog.h"
#include "harness/matrix/yaml_document.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::predict {
namespace {

using spec::SpecError;

struct RatesFile {
  SharedRates shared;
  std::map<std::string, MaterialisedAttention> materialised_attention;
  std::map<std::string, Architecture> architectures;
  std::vector<DeviceFigures> devices;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    constexpr auto kRequired = spec::Presence::required;
    f(Field{.name = "shared", .help = "figures of all devices", .presence = kRequired}, self.shared);
    f(Field{.name = "materialised_attention", .help = "attention that writes its scores"}, self.materialised_attention);
    f(Field{.name = "architectures", .help = "by name", .presence = kRequired}, self.architectures);
    f(Field{.name = "devices", .help = "types of devices", .presence = kRequired}, self.devices);
  }
};

void need(bool present, const DeviceModel& device, const char* figure, const std::string& pointer) {
  if (present) return;
  throw SpecError(pointer, fmt::format("the device '{}' needs {}", device.figures.name, figure));
}

void check_device(const DeviceModel& device, const std::string& pointer) {
  need(device.hardware.peak_flops_per_s.bf16 > 0, device, "a bf16 peak of its hardware", pointer);
  if (device.is_tpu()) {
    need(device.figures.link_bytes_per_s > 0, device, "link_bytes_per_s", pointer);
    need(device.figures.link_axes > 0, device, "link_axes", pointer);
    return;
  }
  need(device.figures.multiprocessors > 0, device, "multiprocessors", pointer);
  need(device.figures.node_bus_bytes_per_s > 0, device, "node_bus_bytes_per_s", pointer);
  need(device.hardware.devices_per_node > 0, device, "devices_per_node of its hardware", pointer);
}

DeviceModel device_model(const DeviceFigures& figures, const RatesFile& file, const harness::ModelCatalog& catalog,
                         const std::string& pointer) {
  const auto architecture = file.architectures.find(figures.architecture);
  if (architecture == file.architectures.end()) {
    std::vector<std::string> names;
    for (const auto& [name, value] : file.architectures) names.push_back(name);
    throw SpecError(pointer + "/architecture", "unknown architecture '" + figures.architecture + "'" +
                                                   spec::suggestion(figures.architecture, names));
  }
  DeviceModel device{.figures = figures,
                     .hardware = {},
                     .architecture = architecture->second,
                     .shared = file.shared,
                     .materialised = file.materialised_attention};
  try {
    device.hardware = catalog.hardware(figures.hardware);
  } catch (const SpecError& e) {
    throw SpecError(pointer + "/hardware", e.what());
  }
  check_device(device, pointer);
  return device;
}

}  // namespace

std::map<std::string, DeviceModel> load_devices(const std::filesystem::path& data_dir) {
  const auto document =
      harness::YamlDocument::load(data_dir / "workloads" / "predictor" / "rates.yaml", "predictor rates");
  const harness::ModelCatalog catalog(data_dir);
  try {
    const auto file = spec::fields_from_json<RatesFile>(document.root(), spec::Missing::takes_default);
    std::map<std::string, DeviceModel> out;
    for (std::size_t i = 0; i < file.devices.size(); ++i) {
      const auto pointer = "/devices/" + std::to_string(i);
      const auto& figures = file.devices[i];
      if (!out.emplace(figures.name, device_model(figures, file, catalog, pointer)).second) {
        throw SpecError(pointer + "/name", "the device '" + figures.name + "' is given twice");
      }
    }
    return out;
  } catch (const SpecError& e) {
    throw document.error(e);
  }
}

}  // namespace perfbench::predict
