#include "harness/launch/kubernetes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "harness/evidence/run_directory.h"
#include "harness/execute/launcher.h"
#include "harness/launch/kubernetes_file.h"
#include "harness/launch/launcher_command.h"
#include "harness/system/input_error.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

using spec::Json;
using Pointer = Json::json_pointer;

constexpr const char* kSessionLabel = "perfbench-session";
// Ended Jobs are kept for a day so that `--resume` can read their state.
constexpr std::int64_t kKeptS = 86400;
constexpr const char* kContainer = "worker";

std::string text_at(const Json& json, const char* pointer) {
  return json.value(Pointer(pointer), std::string());
}

// The condition of this type that holds.
const Json* condition(const Json& object, std::string_view type) {
  const Pointer conditions("/status/conditions");
  if (!object.contains(conditions)) return nullptr;
  for (const auto& one : object.at(conditions)) {
    if (one.value("type", "") == type && one.value("status", "") == "True") return &one;
  }
  return nullptr;
}

// Why a job or its pod ended, and what that means for the attempt that ran: the reasons of conditions JobFailed and
// DisruptionTarget, and those of the kubelet for a pod and for a container.
struct EndReason {
  std::string_view name;
  AttemptState unfinished;
  bool may_go_on;
  bool is_out_of_sight = false;  // the node does not answer, and may still run the pod
};
constexpr std::array kEndReasons{
    EndReason{"BackoffLimitExceeded", AttemptState::crashed, true, true},  // and no pod: it was deleted
    EndReason{"DeadlineExceeded", AttemptState::timed_out, false},
    EndReason{"DeletionByPodGC", AttemptState::crashed, true, true},
    EndReason{"DeletionByTaintManager", AttemptState::crashed, true, true},
    EndReason{"Evicted", AttemptState::crashed, true},
    EndReason{"EvictionByEvictionAPI", AttemptState::cancelled, true},
    EndReason{"NodeLost", AttemptState::crashed, true, true},
    EndReason{"OOMKilled", AttemptState::out_of_memory, true},
    EndReason{"PreemptionByScheduler", AttemptState::cancelled, true},
    EndReason{"Preempting", AttemptState::cancelled, true},
    EndReason{"TerminationByKubelet", AttemptState::crashed, true},
};

// The state of the worker's container; a cluster may add others to a pod.
const Json* container_state(const Json& pod, const char* state) {
  const Pointer containers("/status/containerStatuses");
  const Pointer place(std::string("/state/") + state);
  if (!pod.contains(containers)) return nullptr;
  for (const auto& one : pod.at(containers)) {
    if (one.value("name", "") == kContainer && one.contains(place)) return &one.at(place);
  }
  return nullptr;
}

std::string last_line(const std::string& text) {
  const auto trimmed = trimmed_end(text);
  return trimmed.substr(trimmed.rfind('\n') + 1);
}

// Why a pod does not start. A failed pull alternates between two reasons.
std::string why_pending(const Json& pod) {
  if (const auto* waiting = container_state(pod, "waiting")) {
    auto reason = waiting->value("reason", "");
    return reason == "ImagePullBackOff" ? "ErrImagePull" : reason;
  }
  const Pointer conditions("/status/conditions");
  if (!pod.contains(conditions)) return "";
  for (const auto& one : pod.at(conditions)) {
    if (one.value("type", "") != "PodScheduled" || one.value("status", "") != "False") continue;
    const auto message = one.value("message", "");
    return one.value("reason", "") + (message.empty() ? "" : ": " + message);
  }
  return "";
}

// The reason for the end of a Job, the most exact one first.
std::string end_reason(const Json& failed, const Json* pod) {
  auto reason = failed.value("reason", "");
  if (pod == nullptr || reason == "DeadlineExceeded") return reason;
  if (const auto* disruption = condition(*pod, "DisruptionTarget")) return disruption->value("reason", "");
  if (auto of_pod = text_at(*pod, "/status/reason"); !of_pod.empty()) return of_pod;
  const auto* container = container_state(*pod, "terminated");
  return container == nullptr ? reason : container->value("reason", "");
}

JobView failed_view(const Json& failed, const Json* pod) {
  const auto reason = end_reason(failed, pod);
  const auto* container = pod == nullptr ? nullptr : container_state(*pod, "terminated");
  const int exit_code = container == nullptr ? 0 : container->value("exitCode", 0);
  JobView out{.state = JobState::ended, .what = "Failed (" + reason + ")"};
  const auto* known =
      std::find_if(kEndReasons.begin(), kEndReasons.end(), [&](const auto& one) { return one.name == reason; });
  if (known != kEndReasons.end()) {
    out.unfinished = known->unfinished;
    out.may_go_on = known->may_go_on;
    out.is_out_of_sight = known->is_out_of_sight;
  } else if (container != nullptr) {
    const auto message = last_line(container->value("message", ""));
    out.what = fmt::format("Failed ({}, exit code {}{})", reason, exit_code, message.empty() ? "" : ": " + message);
    // 128 + SIGKILL. The kubelet does not always say that the kernel killed for memory, but little else kills.
    if (exit_code == 137) {
      out.unfinished = AttemptState::out_of_memory;
      out.may_go_on = true;
    }
  }
  return out;
}

JobView view_of(const Json& job, const Json* pod) {
  if (condition(job, "Complete") != nullptr) return {.state = JobState::ended, .what = "Complete"};
  if (const auto* failed = condition(job, "Failed")) return failed_view(*failed, pod);
  if (job.contains(Pointer("/metadata/deletionTimestamp"))) {
    return {.state = JobState::running, .what = "Terminating", .is_ending = true};
  }
  if (condition(job, "Suspended") != nullptr) return {.state = JobState::queued, .what = "Suspended"};
  const auto phase = pod == nullptr ? "Pending" : text_at(*pod, "/status/phase");
  if (phase == "Pending") {
    const auto reason = pod == nullptr ? "" : why_pending(*pod);
    return {.state = JobState::queued, .what = reason.empty() ? phase : fmt::format("{} ({})", phase, reason)};
  }
  return {.state = JobState::running, .what = phase, .is_ending = phase == "Succeeded" || phase == "Failed"};
}

JobView parsed(const Json& list) {
  const Json* job = nullptr;
  const Json* pod = nullptr;
  for (const auto& item : list.at("items")) {
    const auto kind = item.value("kind", "");
    if (kind == "Job") job = &item;
    // A job that Kueue suspended and started again has had several pods.
    if (kind == "Pod" && (pod == nullptr || text_at(*pod, "/metadata/creationTimestamp") <=
                                                text_at(item, "/metadata/creationTimestamp"))) {
      pod = &item;
    }
  }
  if (job == nullptr) {
    return {.state = JobState::ended,
            .what = "no longer known to Kubernetes",
            .unfinished = AttemptState::cancelled,
            .is_out_of_sight = true};
  }
  auto out = view_of(*job, pod);
  if (pod != nullptr) out.nodes = text_at(*pod, "/spec/nodeName");
  return out;
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  const auto relative = path.lexically_normal().lexically_relative(folder);
  return !relative.empty() && *relative.begin() != "..";
}

class Kubernetes : public JobLauncher {
 public:
  explicit Kubernetes(LaunchRequest request) : request_(std::move(request)) {
    const auto complain = [](const std::string& why) { return InputError("[launch] --launcher kubernetes: " + why); };
    if (!find_in_path("kubectl")) throw complain("kubectl is not in PATH");
    if (request_.image.empty()) {
      throw complain("name an image that has perfbench with --image, or as kubernetes.image in site.yaml");
    }
    const auto& job = request_.kubernetes;
    if (job.claim.empty() || job.folder.empty()) {
      throw complain(
          "its pods need a volume that this machine has mounted, too; name both in site.yaml: "
          "`kubernetes: {claim: results, folder: /mnt/results}`");
    }
  }

  std::string job_word() const override { return "Kubernetes job"; }
  bool jobs_outlive_harness() const override { return true; }
  std::string image() const override { return request_.image; }

  std::string submit(const JobRequest& job) override {
    const auto file = job.log.parent_path() / "job.kubernetes.json";
    write_atomically(file, kubernetes_job(job, request_));
    const auto end = call({"create", "--filename=" + file.string()});
    if (end.succeeded()) return job.name;
    // The cluster may have taken the job, although its answer was late.
    if (const auto found = find(job.name)) return *found;
    throw LaunchError("[launch] kubectl create: " + message_of(end));
  }

  std::optional<std::string> find(const std::string& name) override {
    const auto end = call({"get", "job", name, "--ignore-not-found", "--output=name"});
    if (!end.succeeded()) throw LaunchError("[launch] kubectl get job: " + message_of(end));
    return end.output.empty() ? std::nullopt : std::optional(name);
  }

  JobView look(const std::string& job) override {
    const auto end = call({"get", "jobs,pods", fmt::format("--selector={}={}", kSessionLabel, job), "--output=json"});
    return end.succeeded() ? parse_kubernetes_job(end.output)
                           : JobView{.state = JobState::unknown, .what = message_of(end)};
  }

  void cancel(const std::string& job) override {
    call({"delete", "job", job, "--ignore-not-found", "--cascade=foreground", "--wait=false"});
  }

 private:
  ProcessEnd call(std::vector<std::string> words) const {
    std::vector<std::string> command{"kubectl", "--request-timeout=20s"};
    if (!request_.place.empty()) command.push_back("--namespace=" + request_.place);
    command.insert(command.end(), request_.options.begin(), request_.options.end());
    command.insert(command.end(), words.begin(), words.end());
    return call_launcher(std::move(command));
  }

  LaunchRequest request_;
};

Json pod_spec(const JobRequest& job, const LaunchRequest& request) {
  const auto& wanted = request.kubernetes;
  // An image has its perfbench in PATH.
  auto command = Json::array({"perfbench"});
  for (std::size_t i = 1; i < job.command.size(); ++i) command.push_back(without_expansion(job.command[i]));
  Json container{
      {"name", kContainer},
      {"image", request.image},
      {"env",
       Json::array({{{"name", kNodeVariable}, {"valueFrom", {{"fieldRef", {{"fieldPath", "spec.nodeName"}}}}}}})},
      // The end of the worker's output says why it ended.
      {"terminationMessagePolicy", "FallbackToLogsOnError"},
      {"command", std::move(command)},
      {"volumeMounts",
       {{{"name", "shared-memory"}, {"mountPath", "/dev/shm"}}, {{"name", "results"}, {"mountPath", wanted.folder}}}}};
  if (!wanted.resources.empty()) container["resources"] = {{"limits", wanted.resources}};
  if (!wanted.secret.empty()) container["envFrom"] = Json::array({{{"secretRef", {{"name", wanted.secret}}}}});
  // Two sessions on one node would disturb each other's measurements.
  const Json apart{
      {"labelSelector", {{"matchExpressions", Json::array({{{"key", kSessionLabel}, {"operator", "Exists"}}})}}},
      {"namespaceSelector", Json::object()},
      {"topologyKey", "kubernetes.io/hostname"}};
  return {
      {"restartPolicy", "Never"},
      // The first process of a container would have to wait for orphans of the others.
      {"shareProcessNamespace", true},
      // The worker and this process read and write each other's files.
      {"securityContext", {{"runAsUser", geteuid()}, {"runAsGroup", getegid()}}},
      {"affinity", {{"podAntiAffinity", {{"requiredDuringSchedulingIgnoredDuringExecution", Json::array({apart})}}}}},
      {"containers", Json::array({std::move(container)})},
      {"volumes",
       {{{"name", "shared-memory"}, {"emptyDir", {{"medium", "Memory"}}}},
        {{"name", "results"}, {"persistentVolumeClaim", {{"claimName", wanted.claim}}}}}}};
}

}  // namespace

std::string kubernetes_job(const JobRequest& job, const LaunchRequest& request) {
  const auto& wanted = request.kubernetes;
  const auto session = job.log.parent_path();
  if (!is_inside(session, wanted.folder)) {
    throw LaunchError(fmt::format(
        "[launch] --launcher kubernetes: {} is not in the volume's folder {}: name a place there with --runs",
        session.string(), wanted.folder));
  }
  const Json label{{kSessionLabel, job.name}};
  Json labels = label;
  if (!wanted.queue.empty()) labels[kKueueQueue] = wanted.queue;
  const Json document{{"apiVersion", "batch/v1"},
                      {"kind", "Job"},
                      {"metadata", {{"name", job.name}, {"labels", labels}}},
                      {"spec",
                       {{"completions", 1},
                        {"parallelism", 1},
                        // A restarted job would measure its attempts twice.
                        {"backoffLimit", 0},
                        {"ttlSecondsAfterFinished", kKeptS},
                        {"template", {{"metadata", {{"labels", label}}}, {"spec", pod_spec(job, request)}}}}}};
  return document.dump(2) + "\n";
}

JobView parse_kubernetes_job(std::string_view list) {
  const auto unknown = [](const char* why) {
    return JobView{.state = JobState::unknown, .what = std::string("kubectl printed something else: ") + why};
  };
  try {
    return parsed(spec::parse_json(list));
  } catch (const Json::exception& e) {
    return unknown(e.what());
  } catch (const spec::SpecError& e) {
    return unknown(e.what());
  }
}

std::unique_ptr<JobLauncher> kubernetes_launcher(const LaunchRequest& request) {
  return std::make_unique<Kubernetes>(request);
}

}  // namespace perfbench::harness
