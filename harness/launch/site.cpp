#include "harness/launch/site.h"

#include <cstdlib>

#include "harness/matrix/yaml_document.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kSiteVariable = "PERFBENCH_SITE";

void add_before(std::vector<std::string>& options, const std::vector<std::string>& first) {
  options.insert(options.begin(), first.begin(), first.end());
}

}  // namespace

std::optional<fs::path> config_folder() {
  if (const char* config = std::getenv("XDG_CONFIG_HOME")) return fs::path(config) / "perfbench";
  if (const char* home = std::getenv("HOME")) return fs::path(home) / ".config" / "perfbench";
  return std::nullopt;
}

std::optional<fs::path> site_file() {
  if (const char* named = std::getenv(kSiteVariable)) return named;
  const auto folder = config_folder();
  return folder ? std::optional(*folder / "site.yaml") : std::nullopt;
}

Site load_site() {
  const auto file = site_file();
  std::error_code error;
  if (!file || (std::getenv(kSiteVariable) == nullptr && !fs::exists(*file, error))) return {};
  const auto document = YamlDocument::load(*file, "site");
  try {
    return spec::fields_from_json<Site>(document.root(), spec::Missing::takes_default);
  } catch (const spec::SpecError& e) {
    throw document.error(e);
  }
}

LaunchRequest with_site(LaunchRequest request, const Site& site) {
  if (request.launcher == "slurm") {
    if (request.place.empty()) request.place = site.slurm.partition;
    add_before(request.options, site.slurm.options);
  }
  if (request.launcher == "kubernetes") {
    const auto& kubernetes = site.kubernetes;
    if (request.place.empty()) request.place = kubernetes.name_space;
    if (request.image.empty()) request.image = kubernetes.image;
    add_before(request.options, kubernetes.options);
    request.kubernetes = kubernetes.job;
  } else if (runs_in_image(request.launcher)) {
    const auto& container = request.launcher == "podman" ? site.podman : site.docker;
    if (request.image.empty()) request.image = container.image;
    add_before(request.options, container.options);
  }
  return request;
}

}  // namespace perfbench::harness
