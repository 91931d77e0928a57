#include "harness/launch/kubernetes_file.h"

#include <fmt/core.h>

#include <cmath>

#include "harness/launch/node_script.h"
#include "harness/matrix/yaml_text.h"
#include "harness/system/input_error.h"
#include "workloads/spec/fields_json.h"

namespace perfbench::harness {
namespace {

using spec::Json;

constexpr const char* kResults = "/perfbench";
constexpr std::int64_t kVolumeGroup =
    10001;  // any group: files of the volumes get it, and the container's user is in it
constexpr const char* kReplicatedJob = "node";
constexpr const char* kIndex = "metadata.annotations['batch.kubernetes.io/job-completion-index']";

// The name that the first node has inside the cluster.
std::string first_host(const NodeWork& work, const LaunchFileRequest& request) {
  return request.form == LaunchForm::jobset ? fmt::format("{0}-{1}-0-0.{0}", work.name, kReplicatedJob)
                                            : fmt::format("{0}-0.{0}", work.name);
}

Json environment(const NodeWork& work, const LaunchFileRequest& request) {
  Json out = Json::array();
  out.push_back({{"name", "NODE_RANK"}, {"valueFrom", {{"fieldRef", {{"fieldPath", kIndex}}}}}});
  if (work.nodes > 1) out.push_back({{"name", "COORDINATOR"}, {"value", first_host(work, request)}});
  out.push_back({{"name", "RUN_DIR"}, {"value", fmt::format("{}/{}", kResults, work.name)}});
  if (!work.needs.empty() && request.secret.empty()) {
    throw InputError(
        fmt::format("[launch] --render {}: the program needs {}; name the Secret that has it with --secret",
                    spec::enum_name(request.form), work.needs.front()));
  }
  for (const auto& name : work.needs) {
    out.push_back({{"name", name}, {"valueFrom", {{"secretKeyRef", {{"name", request.secret}, {"key", name}}}}}});
  }
  return out;
}

Json pod(const NodeWork& work, const LaunchFileRequest& request, const std::string& image) {
  std::string script = "set -eu";
  for (const auto& line : node_script(work, Variables::quoted)) script += "\n" + line;
  Json limits = Json::object();
  if (work.on_gpus) limits["nvidia.com/gpu"] = work.devices_per_node;
  for (const auto& [name, count] : request.resources) limits[name] = count;
  Json container{
      {"name", "training"},
      {"image", image},
      {"command", {"sh", "-c", without_expansion(script)}},
      {"env", environment(work, request)},
      {"volumeMounts",
       {{{"name", "shared-memory"}, {"mountPath", "/dev/shm"}}, {{"name", "results"}, {"mountPath", kResults}}}}};
  if (!limits.empty()) container["resources"] = {{"limits", limits}};
  Json results{{"name", "results"}};
  if (request.claim.empty()) {
    results["emptyDir"] = Json::object();
  } else {
    results["persistentVolumeClaim"] = {{"claimName", request.claim}};
  }
  Json out{{"restartPolicy", "Never"},
           {"containers", Json::array({container})},
           {"volumes",
            Json::array({{{"name", "shared-memory"}, {"emptyDir", {{"medium", "Memory"}}}}, std::move(results)})}};
  if (work.in_own_image) out["securityContext"] = {{"fsGroup", kVolumeGroup}};
  // A JobSet makes its own Service.
  if (request.form == LaunchForm::kubernetes) out["subdomain"] = work.name;
  return out;
}

// A job that Kubernetes restarts would be measured from its second start on, so it never does.
Json job_spec(const NodeWork& work, const LaunchFileRequest& request, const std::string& image) {
  Json out{{"completionMode", "Indexed"},
           {"completions", work.nodes},
           {"parallelism", work.nodes},
           {"backoffLimit", 0},
           {"template", {{"spec", pod(work, request, image)}}}};
  if (request.time_limit_s) {
    out["activeDeadlineSeconds"] = static_cast<std::int64_t>(std::ceil(*request.time_limit_s));
  }
  return out;
}

Json metadata(const NodeWork& work, const LaunchFileRequest& request) {
  Json out{{"name", work.name}};
  if (!request.queue.empty()) out["labels"] = {{kKueueQueue, request.queue}};
  return out;
}

}  // namespace

std::string without_expansion(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    out.append(text[i] == '$' && (next == '$' || next == '(') ? 2 : 1, text[i]);
  }
  return out;
}

LaunchFile kubernetes_file(const NodeWork& work, const LaunchFileRequest& request, const std::string& image) {
  const auto file = work.name + ".yaml";
  auto out = remark_lines(work);
  out += "# Submit: kubectl apply -f " + file + "\n";
  if (request.claim.empty()) {
    out += fmt::format("# {} is lost with the pods, because --claim names no volume. Keep the log: kubectl logs\n",
                       kResults);
  }
  if (request.form == LaunchForm::jobset) {
    const Json nodes{
        {"name", kReplicatedJob}, {"replicas", 1}, {"template", {{"spec", job_spec(work, request, image)}}}};
    out += yaml_text({{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                      {"kind", "JobSet"},
                      {"metadata", metadata(work, request)},
                      {"spec", {{"failurePolicy", {{"maxRestarts", 0}}}, {"replicatedJobs", Json::array({nodes})}}}});
  } else {
    out += yaml_text(
        {{"apiVersion", "v1"},
         {"kind", "Service"},
         {"metadata", {{"name", work.name}}},
         {"spec",
          {{"clusterIP", "None"}, {"publishNotReadyAddresses", true}, {"selector", {{"job-name", work.name}}}}}});
    out += "---\n" + yaml_text({{"apiVersion", "batch/v1"},
                                {"kind", "Job"},
                                {"metadata", metadata(work, request)},
                                {"spec", job_spec(work, request, image)}});
  }
  return {.name = file, .text = std::move(out)};
}

}  // namespace perfbench::harness
