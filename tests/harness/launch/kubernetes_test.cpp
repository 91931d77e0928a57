// Objects as the API of Kubernetes has them: batch/v1 Job and v1 Pod, without the keys that are not read.
#include "harness/launch/kubernetes.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "harness/execute/process.h"
#include "workloads/spec/parse_json.h"

namespace perfbench::harness {
namespace {

using spec::Json;
using testing::ElementsAre;
using testing::HasSubstr;

std::string condition(const std::string& type, const std::string& reason = "", const std::string& status = "True") {
  return fmt::format(R"("conditions": [{{"type": "Other", "status": "True"}}, {{"type": "{}", "status": "{}", )"
                     R"("reason": "{}"}}])",
                     type, status, reason);
}

std::string job(const std::string& status = "", const std::string& metadata = "") {
  return R"({"kind": "Job", "metadata": {)" + metadata + R"(}, "status": {)" + status + "}}";
}

std::string pod(const std::string& status, const std::string& made = "2026-01-31T12:00:00Z",
                const std::string& node = "n1") {
  return fmt::format(R"({{"kind": "Pod", "metadata": {{"creationTimestamp": "{}"}}, "spec": {{"nodeName": "{}"}}, )"
                     R"("status": {{{}}}}})",
                     made, node, status);
}

// Beside a container that the cluster added.
std::string container(const std::string& state) {
  return R"("containerStatuses": [{"name": "istio-proxy", "state": {"terminated": {"reason": "Completed", "exitCode": 0},
            "waiting": {"reason": "PodInitializing"}}}, {"name": "worker", "state": {)" +
         state + "}}]";
}

std::string terminated(const std::string& reason, int exit_code) {
  return container(fmt::format(R"("terminated": {{"reason": "{}", "exitCode": {}}})", reason, exit_code));
}

template <class... Object>
JobView seen(const Object&... objects) {
  std::string items;
  ((items += (items.empty() ? "" : ", ") + objects), ...);
  return parse_kubernetes_job(R"({"kind": "List", "items": [)" + items + "]}");
}

TEST(KubernetesJob, WaitsUntilItsPodRuns) {
  EXPECT_EQ(seen(job()).state, JobState::queued);
  EXPECT_EQ(seen(job()).what, "Pending");
  const auto unschedulable =
      seen(job(), pod(R"("phase": "Pending", )" + condition("PodScheduled", "Unschedulable", "False"), "t", ""));
  EXPECT_EQ(unschedulable.state, JobState::queued);
  EXPECT_EQ(unschedulable.what, "Pending (Unschedulable)");
  const auto with_message = parse_kubernetes_job(
      R"({"items": [{"kind": "Job"}, {"kind": "Pod", "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled",
          "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}]}}]})");
  EXPECT_EQ(with_message.what, "Pending (Unschedulable: 0/3 nodes are available)");
  EXPECT_EQ(unschedulable.nodes, "");
  for (const auto* reason : {"ErrImagePull", "ImagePullBackOff"}) {
    const auto state = container(fmt::format(R"("waiting": {{"reason": "{}"}})", reason));
    EXPECT_EQ(seen(job(), pod(R"("phase": "Pending", )" + state)).what, "Pending (ErrImagePull)");
  }
  const auto suspended = seen(job(condition("Suspended")));
  EXPECT_EQ(suspended.state, JobState::queued);
  EXPECT_EQ(suspended.what, "Suspended");
  EXPECT_EQ(seen(job(condition("Suspended", "", "False")), pod(R"("phase": "Running")")).what, "Running");
}

TEST(KubernetesJob, RunsUntilItsJobHasEnded) {
  const auto running = seen(job(), pod(R"("phase": "Running")"));
  EXPECT_EQ(running.state, JobState::running);
  EXPECT_EQ(running.nodes, "n1");
  EXPECT_FALSE(running.is_ending);
  for (const auto& view : {seen(job(), pod(R"("phase": "Failed", )" + terminated("Error", 1))),
                           seen(job("", R"("deletionTimestamp": "t")"), pod(R"("phase": "Running")"))}) {
    EXPECT_EQ(view.state, JobState::running);
    EXPECT_TRUE(view.is_ending);
  }
  const auto done = seen(job(condition("Complete")), pod(R"("phase": "Succeeded", )" + terminated("Completed", 0)));
  EXPECT_EQ(done.state, JobState::ended);
  EXPECT_EQ(done.what, "Complete");
  EXPECT_FALSE(done.may_go_on);
  // Kueue has suspended the job and started it again.
  EXPECT_EQ(seen(pod(R"("phase": "Running")", "2026-01-31T12:10:00Z", "n2"), job(),
                 pod(R"("phase": "Failed")", "2026-01-31T12:00:00Z", "n1"))
                .nodes,
            "n2");
}

TEST(KubernetesJob, EndReasonSaysWhatBecomesOfItsAttempts) {
  struct Row {
    std::string job_reason, pod_status, what;
    AttemptState unfinished;
    bool may_go_on, is_out_of_sight;
  };
  const std::string killed = terminated("Error", 137);
  for (const auto& row : {
           Row{"BackoffLimitExceeded", terminated("Error", 1), "Failed (Error, exit code 1)", AttemptState::crashed,
               false, false},
           Row{"BackoffLimitExceeded", terminated("OOMKilled", 137), "Failed (OOMKilled)", AttemptState::out_of_memory,
               true, false},
           Row{"BackoffLimitExceeded", killed, "Failed (Error, exit code 137)", AttemptState::out_of_memory, true,
               false},
           Row{"BackoffLimitExceeded", killed + ", " + condition("DisruptionTarget", "PreemptionByScheduler"),
               "Failed (PreemptionByScheduler)", AttemptState::cancelled, true, false},
           Row{"BackoffLimitExceeded", killed + ", " + condition("DisruptionTarget", "EvictionByEvictionAPI"),
               "Failed (EvictionByEvictionAPI)", AttemptState::cancelled, true, false},
           Row{"BackoffLimitExceeded", condition("DisruptionTarget", "DeletionByTaintManager"),
               "Failed (DeletionByTaintManager)", AttemptState::crashed, true, true},
           Row{"BackoffLimitExceeded", R"("reason": "Evicted")", "Failed (Evicted)", AttemptState::crashed, true,
               false},
           Row{"DeadlineExceeded", killed, "Failed (DeadlineExceeded)", AttemptState::timed_out, false, false},
       }) {
    const auto view = seen(job(condition("Failed", row.job_reason)), pod(R"("phase": "Failed", )" + row.pod_status));
    EXPECT_EQ(view.state, JobState::ended) << row.what;
    EXPECT_EQ(view.what, row.what);
    EXPECT_EQ(view.unfinished, row.unfinished) << row.what;
    EXPECT_EQ(view.may_go_on, row.may_go_on) << row.what;
    EXPECT_EQ(view.is_out_of_sight, row.is_out_of_sight) << row.what;
  }
}

TEST(KubernetesJob, EndNamesTheLastLineOfItsOutput) {
  const auto state =
      container(R"("terminated": {"reason": "Error", "exitCode": 3, "message": "first\n[worker] why\n"})");
  EXPECT_EQ(seen(job(condition("Failed", "BackoffLimitExceeded")), pod(R"("phase": "Failed", )" + state)).what,
            "Failed (Error, exit code 3: [worker] why)");
}

// A node that was taken away has left no pod behind, and may still run it.
TEST(KubernetesJob, ThatIsGoneMayStillRun) {
  const auto without_pod = seen(job(condition("Failed", "BackoffLimitExceeded")));
  EXPECT_EQ(without_pod.unfinished, AttemptState::crashed);
  EXPECT_TRUE(without_pod.may_go_on);
  EXPECT_TRUE(without_pod.is_out_of_sight);
  const auto deleted = seen();
  EXPECT_EQ(deleted.state, JobState::ended);
  EXPECT_EQ(deleted.unfinished, AttemptState::cancelled);
  EXPECT_FALSE(deleted.may_go_on);
  EXPECT_TRUE(deleted.is_out_of_sight);
}

TEST(KubernetesJob, OtherTextIsNoAnswer) {
  for (const auto* text : {"", "{}", "[]", R"({"items": 1})", R"({"items": [{"kind": 1}]})",
                           R"({"items": [{"kind": "Job", "status": {"conditions": [1]}}]})"}) {
    const auto view = parse_kubernetes_job(text);
    EXPECT_EQ(view.state, JobState::unknown) << text;
    EXPECT_THAT(view.what, HasSubstr("kubectl")) << text;
  }
}

TEST(KubernetesJob, HasOnePodThatSharesItsNodeWithNoOtherSession) {
  const JobRequest request{.name = "pb-20260131t120000z-3f09-1",
                           .command = {"/opt/perfbench", "worker", "/mnt/results/a $(b)/s.runs/sessions/pb"},
                           .log = "/mnt/results/a $(b)/s.runs/sessions/pb/job.log"};
  const LaunchRequest launch{.launcher = "kubernetes",
                             .image = "registry/perfbench",
                             .kubernetes = {.claim = "disk",
                                            .folder = "/mnt/results",
                                            .queue = "team",
                                            .secret = "keys",
                                            .resources = {{"nvidia.com/gpu", 8}}}};
  const auto document = Json::parse(kubernetes_job(request, launch));
  const auto at = [&](const char* pointer) { return document.at(Json::json_pointer(pointer)); };
  EXPECT_EQ(at("/metadata/name"), "pb-20260131t120000z-3f09-1");
  EXPECT_EQ(at("/metadata/labels/kueue.x-k8s.io~1queue-name"), "team");
  EXPECT_EQ(at("/metadata/labels/perfbench-session"), at("/metadata/name"));
  EXPECT_EQ(at("/spec/template/metadata/labels/perfbench-session"), at("/metadata/name"));
  EXPECT_EQ(at("/spec/backoffLimit"), 0);
  EXPECT_EQ(at("/spec/template/spec/containers/0/env/0/name"), kNodeVariable);
  EXPECT_EQ(at("/spec/template/spec/containers/0/env/0/valueFrom/fieldRef/fieldPath"), "spec.nodeName");
  EXPECT_EQ(at("/spec/template/spec/restartPolicy"), "Never");
  EXPECT_EQ(at("/spec/template/spec/securityContext/runAsUser"), geteuid());
  EXPECT_THAT(at("/spec/template/spec/containers/0/command").get<std::vector<std::string>>(),
              ElementsAre("perfbench", "worker", "/mnt/results/a $$(b)/s.runs/sessions/pb"));
  EXPECT_EQ(at("/spec/template/spec/containers/0/envFrom/0/secretRef/name"), "keys");
  EXPECT_EQ(at("/spec/template/spec/containers/0/resources/limits/nvidia.com~1gpu"), 8);
  EXPECT_EQ(at("/spec/template/spec/containers/0/volumeMounts/1/mountPath"), "/mnt/results");
  EXPECT_EQ(at("/spec/template/spec/volumes/1/persistentVolumeClaim/claimName"), "disk");
  const auto apart =
      at("/spec/template/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0");
  EXPECT_EQ(apart.at("topologyKey"), "kubernetes.io/hostname");
  EXPECT_EQ(apart.at("/labelSelector/matchExpressions/0/key"_json_pointer), "perfbench-session");

  for (const auto* folder : {"/mnt/result", "/other", "mnt/results"}) {
    auto elsewhere = launch;
    elsewhere.kubernetes.folder = folder;
    EXPECT_THROW(kubernetes_job(request, elsewhere), LaunchError) << folder;
  }
}

}  // namespace
}  // namespace perfbench::harness
