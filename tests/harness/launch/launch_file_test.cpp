// Launch files. Stand-ins for the schedulers' commands start the scripts with a real shell, so that what a program gets
// is seen and not guessed. (ci/slurm.py submits them to a real Slurm.)
#include "harness/launch/launch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/execute/process.h"
#include "harness/launch/site.h"
#include "harness/matrix/yaml_document.h"
#include "harness/system/input_error.h"
#include "tests/harness/example_run.h"
#include "workloads/spec/run_program.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Writes its arguments and the variables that a launch file sets.
constexpr const char* kProgram =
    "import json, os, sys; names = ['A', 'NODE_RANK', 'COORDINATOR']; "
    "print(json.dumps([sys.argv[1:], [os.environ.get(n) for n in names], os.getcwd()]))";

// Ends at the shell that each file starts on a node, and starts that.
constexpr const char* kStandIn = R"(#!/bin/sh
echo "$0 $@" | head -n 1 >> "$CALLS"
case "$0 $1" in
*scontrol*) echo first; echo second; exit ;;
*xpk*) for word; do case "$word" in --command=*) exec sh -c "${word#--command=}" ;; esac; done ;;
esac
while [ "$1" != -c ]; do shift; done
exec sh -c "$2"
)";

class LaunchFiles : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(dir_ / "bin");
    for (const auto* name : {"srun", "scontrol", "docker", "xpk"}) {
      write_text(dir_ / "bin" / name, kStandIn);
      fs::permissions(dir_ / "bin" / name, fs::perms::owner_all);
    }
    program_.command = {"python3", "-c", kProgram};
    cell_.matrix = "my matrix";
    cell_.label = "n=1";
    cell_.run_id = "0123456789abcdef";
    cell_.run.mesh.ici.fsdp = 8;
  }

  NodeWork work() {
    cell_.run.program = std::make_shared<const spec::RunProgram>(spec::RunProgram{.spec = program_});
    return work_of_program(cell_, in_job_);
  }
  LaunchFile file(LaunchForm form) { return render_launch_file(work(), {.form = form, .image = image_}); }
  std::string complaint(LaunchForm form) {
    try {
      file(form);
    } catch (const InputError& e) {
      return e.what();
    }
    return "no complaint";
  }

  // Things that the program of the file sees: its arguments, A, NODE_RANK, COORDINATOR and the working directory.
  Json seen_by_program(const LaunchFile& file, std::map<std::string, std::string> variables = {}) const {
    write_text(dir_ / "file", file.text);
    variables.insert({{"PATH", (dir_ / "bin").string() + ":" + std::getenv("PATH")},
                      {"CALLS", (dir_ / "calls").string()},
                      {"SLURM_SUBMIT_DIR", dir_.string()},
                      {"SLURM_JOB_NAME", "job"},
                      {"SLURM_JOB_ID", "7"},
                      {"SLURM_NODEID", "1"},
                      {"SLURM_JOB_NODELIST", "n[1-2]"}});
    return output_of({"bash", (dir_ / "file").string()}, variables);
  }
  Json output_of(const std::vector<std::string>& command, const std::map<std::string, std::string>& variables) const {
    const auto end = run_process({.command = command, .working_dir = dir_, .environment = variables}, {});
    EXPECT_TRUE(end.succeeded()) << end.error_output;
    return Json::parse(end.output, nullptr, false);
  }
  std::string calls() const {
    std::ifstream in(dir_ / "calls");
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const ScratchFolder folder_;
  const fs::path dir_ = folder_ / "test";
  Cell cell_;
  spec::ProgramSpec program_;
  std::string image_;
  ProgramInJob in_job_;
};

// Words that a shell would change.
const std::vector<std::string> kHostile{"a'b", "$HOME", "`id`", "two  words", "\"",  "back\\slash", "",
                                        "*",   "#",     "-n",   "$(id)",      "$$x", "line\nbreak", "END"};

TEST_F(LaunchFiles, NoShellReadsTheWordsOfAProgram) {
  program_.env = {{"A", "x' ; id \"$HOME\""}};
  for (const auto& word : kHostile) program_.command.push_back(word);
  program_.command.insert(program_.command.end(), {"{{brace}}", "out={run_dir}_x y"});
  auto expected = kHostile;
  expected.push_back("{brace}");
  for (const auto form : {LaunchForm::slurm, LaunchForm::docker}) {
    SCOPED_TRACE(spec::enum_name(form));
    image_ = form == LaunchForm::docker ? "image" : "";
    const auto run_dir = (dir_ / "results of a run").string();
    const auto seen = seen_by_program(file(form), {{"PERFBENCH_RUN_DIR", run_dir}});
    auto words = expected;
    words.push_back("out=" + run_dir + "_x y");
    EXPECT_EQ(seen.at(0), Json(words));
    EXPECT_EQ(seen.at(1).at(0), "x' ; id \"$HOME\"");
    EXPECT_EQ(seen.at(2), run_dir);
  }
}

TEST_F(LaunchFiles, KubernetesReadsNoWordOfAProgramEither) {
  image_ = "image";
  for (const auto& word : kHostile) program_.command.push_back(word);
  for (const auto form : {LaunchForm::kubernetes, LaunchForm::jobset}) {
    const auto text = file(form).text;
    const auto document =
        YamlDocument::parse(text.substr(form == LaunchForm::jobset ? 0 : text.find("---\n") + 4), "job", "job.yaml")
            .root();
    const auto& spec = form == LaunchForm::jobset ? document["/spec/replicatedJobs/0/template/spec"_json_pointer]
                                                  : document["/spec"_json_pointer];
    const auto& container = spec.at("/template/spec/containers/0"_json_pointer);
    auto script = container.at("command").at(2).get<std::string>();
    // A kubelet changes a command: $$ is a dollar sign, and $(NAME) the value of a variable.
    std::string expanded;
    for (std::size_t i = 0; i < script.size(); ++i) {
      if (script.compare(i, 2, "$$") == 0) ++i;
      ASSERT_FALSE(script[i] == '$' && script.compare(i, 2, "$(") == 0 && script[i - 1] != '$') << script;
      expanded += script[i];
    }
    const auto seen = output_of({"sh", "-c", expanded}, {{"RUN_DIR", dir_.string()}});
    EXPECT_EQ(seen.at(0), Json(kHostile));
  }
}

TEST_F(LaunchFiles, EveryNodeGetsItsNumberAndTheFirstNode) {
  cell_.run.mesh.dcn.dp = 2;
  program_.env = {{"A", "{coordinator}:29500"}};
  program_.command.emplace_back("--rank={node_rank}");
  const auto slurm = file(LaunchForm::slurm);
  EXPECT_THAT(slurm.text, AllOf(HasSubstr("#SBATCH --nodes=2\n"), HasSubstr("#SBATCH --ntasks-per-node=1\n"),
                                HasSubstr("--exclusive\n"), HasSubstr("--no-requeue\n"), Not(HasSubstr("gpus"))));
  EXPECT_EQ(seen_by_program(slurm).at(0), Json{"--rank=1"});
  EXPECT_EQ(seen_by_program(slurm).at(1), (Json{"first:29500", "1", "first"}));
  EXPECT_EQ(seen_by_program(slurm).at(2), (dir_ / "job-7").string());

  image_ = "image";
  const auto docker = file(LaunchForm::docker);
  EXPECT_EQ(seen_by_program(docker, {{"NODE_RANK", "3"}, {"COORDINATOR", "host"}}).at(1),
            (Json{"host:29500", "3", "host"}));
  write_text(dir_ / "file", docker.text);
  const auto end = run_process({.command = {"bash", (dir_ / "file").string()}, .working_dir = dir_}, {});
  EXPECT_THAT(end.error_output, HasSubstr("NODE_RANK: number of this node, from 0"));

  program_.command = {"train", "--rank={node_rank}"};
  const auto xpk =
      render_launch_file(work(), {.form = LaunchForm::xpk, .image = "image", .cluster = "c", .device_type = "t"});
  EXPECT_THAT(xpk.text, AllOf(HasSubstr("--num-nodes=2 "), HasSubstr("export COORDINATOR=$JAX_COORDINATOR_ADDRESS")));
}

TEST_F(LaunchFiles, AJobOfKubernetesStartsOnceAndFindsItsFirstPod) {
  image_ = "image";
  cell_.run.mesh.dcn.dp = 2;
  cell_.run.device = spec::Device::cuda;
  program_.needs = {"HF_TOKEN"};
  EXPECT_THAT(complaint(LaunchForm::jobset), HasSubstr("the program needs HF_TOKEN; name the Secret"));
  LaunchFileRequest request{.form = LaunchForm::jobset,
                            .image = "true",
                            .time_limit_s = 90,
                            .queue = "team",
                            .secret = "tokens",
                            .claim = "disk",
                            .resources = {{"vpc.amazonaws.com/efa", 32}}};
  const auto set = YamlDocument::parse(render_launch_file(work(), request).text, "job", "job.yaml").root();
  EXPECT_EQ(set.at("apiVersion"), "jobset.x-k8s.io/v1alpha2");
  EXPECT_EQ(set.at("/metadata/labels"_json_pointer), (Json{{"kueue.x-k8s.io/queue-name", "team"}}));
  EXPECT_EQ(set.at("/spec/failurePolicy/maxRestarts"_json_pointer), 0);
  const auto& job = set.at("/spec/replicatedJobs/0/template/spec"_json_pointer);
  EXPECT_EQ(job.at("completions"), 2);
  EXPECT_EQ(job.at("parallelism"), 2);
  EXPECT_EQ(job.at("completionMode"), "Indexed");
  EXPECT_EQ(job.at("backoffLimit"), 0);
  EXPECT_EQ(job.at("activeDeadlineSeconds"), 90);
  const auto& pod = job.at("/template/spec"_json_pointer);
  EXPECT_EQ(pod.at("restartPolicy"), "Never");
  const auto& container = pod.at("containers").at(0);
  EXPECT_EQ(container.at("image"), "true") << "a text that looks like a truth value stays a text";
  EXPECT_EQ(container.at("/resources/limits"_json_pointer),
            (Json{{"nvidia.com/gpu", 8}, {"vpc.amazonaws.com/efa", 32}}));
  std::map<std::string, Json> env;
  for (const auto& one : container.at("env"))
    env[one.at("name")] = one.contains("value") ? one["value"] : one["valueFrom"];
  EXPECT_EQ(env.at("COORDINATOR"), "my-matrix-01234567-node-0-0.my-matrix-01234567");
  EXPECT_EQ(env.at("NODE_RANK").at("/fieldRef/fieldPath"_json_pointer),
            "metadata.annotations['batch.kubernetes.io/job-completion-index']");
  EXPECT_EQ(env.at("HF_TOKEN").at("secretKeyRef"), (Json{{"name", "tokens"}, {"key", "HF_TOKEN"}}));
  EXPECT_EQ(pod.at("/volumes/1/persistentVolumeClaim/claimName"_json_pointer), "disk");

  request.form = LaunchForm::kubernetes;
  const auto text = render_launch_file(work(), request).text;
  const auto service = YamlDocument::parse(text.substr(0, text.find("---\n")), "job", "job.yaml").root();
  EXPECT_EQ(service.at("/spec/clusterIP"_json_pointer), "None");
  EXPECT_EQ(service.at("/spec/selector/job-name"_json_pointer), "my-matrix-01234567");
  EXPECT_THAT(text, AllOf(HasSubstr("subdomain: \"my-matrix-01234567\""),
                          HasSubstr("\"my-matrix-01234567-0.my-matrix-01234567\"")));
}

TEST_F(LaunchFiles, NamesAreDnsLabelsOfAtMostFortyCharacters) {
  for (const auto* matrix : {"", "UPPER_case", "9 lives", "ü", "a-name-that-is-much-longer-than-any-scheduler-takes-it",
                             "ends-in-a-hyphen-at-thirty-one-x"}) {
    cell_.matrix = matrix;
    EXPECT_THAT(work().name, testing::MatchesRegex("[a-z]([-a-z0-9]*[a-z0-9])?")) << matrix;
    EXPECT_LE(work().name.size(), 40U);
    EXPECT_THAT(work().name, testing::EndsWith("-01234567"));
  }
}

TEST_F(LaunchFiles, ALineBreakInALabelStaysInsideItsRemark) {
  cell_.label = "n=1\n#SBATCH --nodes=1000\nrm -rf x";
  EXPECT_THAT(file(LaunchForm::slurm).text, AllOf(Not(HasSubstr("\n#SBATCH --nodes=1000")), Not(HasSubstr("\nrm"))));
}

TEST_F(LaunchFiles, FoldersOfThisMachineAreNotLookedForInAnImage) {
  program_.workdir = "{cwd}";
  const auto here = "\ncd " + fs::current_path().string();
  EXPECT_THAT(file(LaunchForm::slurm).text, HasSubstr(here));
  image_ = "image";
  in_job_.has_image = true;
  EXPECT_THAT(file(LaunchForm::slurm).text, Not(HasSubstr("\ncd ")));
  in_job_.checkout = "/opt/trainer";
  EXPECT_THAT(file(LaunchForm::docker).text, HasSubstr("\ncd /opt/trainer\n"));
  program_.command.emplace_back("{cwd}/train.py");
  EXPECT_THAT(file(LaunchForm::docker).text, HasSubstr(" /opt/trainer/train.py"));
  in_job_.checkout = "";
  EXPECT_THAT(complaint(LaunchForm::docker), HasSubstr("the program needs {cwd}"));
}

TEST_F(LaunchFiles, AProgramWithALauncherOfItsOwnIsStartedOnce) {
  cell_.run.mesh.dcn.dp = 2;
  program_.command = {"srun", "--nodes=2", "-u", "python3", "-c", kProgram, "x"};
  const auto slurm = file(LaunchForm::slurm);
  EXPECT_THAT(slurm.text, AllOf(HasSubstr("#SBATCH --ntasks-per-node=8\n"), HasSubstr("\nexec srun --nodes=2 -u"),
                                Not(HasSubstr("script="))));
  EXPECT_THAT(slurm.text, HasSubstr("PERFBENCH_RUN_DIR"));
  image_ = "image";
  EXPECT_THAT(complaint(LaunchForm::slurm), HasSubstr("inside an image cannot start ranks on other nodes"));
  EXPECT_THAT(complaint(LaunchForm::jobset), HasSubstr("srun starts its ranks on 2 nodes itself"));
}

TEST_F(LaunchFiles, AFormRefusesWorkThatItCannotExpress) {
  EXPECT_THAT(complaint(LaunchForm::docker), HasSubstr("--render docker: name an image"));
  image_ = "image";
  program_.command = {"train", "a\"b"};
  EXPECT_THAT(complaint(LaunchForm::xpk), HasSubstr("XPK cannot pass a command with a double quote"));
  program_.command = {"train", "a\nb"};
  EXPECT_THAT(complaint(LaunchForm::xpk), HasSubstr("a line break"));
  program_.command = {"train", "it's"};
  EXPECT_THAT(complaint(LaunchForm::xpk), HasSubstr("a backslash or a single quote"));
  for (const auto* word : {"$$", "$(x)"}) {
    program_.command = {"train", word};
    EXPECT_THAT(complaint(LaunchForm::xpk), HasSubstr("Kubernetes would change"));
  }
  program_.command = {"{repo}/train"};
  EXPECT_THAT(complaint(LaunchForm::slurm), HasSubstr("--checkout"));
  cell_.program_repo = "/home/ada/trainer";
  EXPECT_THAT(file(LaunchForm::slurm).text, HasSubstr("exec /home/ada/trainer/train"));
  in_job_.has_image = true;
  EXPECT_THAT(complaint(LaunchForm::docker), HasSubstr("--checkout")) << "an image has no folder of here";
}

TEST_F(LaunchFiles, AnOptionThatAFormHasNoPlaceForIsRefused) {
  const auto complaint = [](const LaunchFileRequest& request) -> std::string {
    try {
      check_launch_file_request(request);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  using F = LaunchForm;
  EXPECT_EQ(complaint({.form = F::slurm, .partition = "p", .options = {"w"}, .time_limit_s = 1}), "");
  EXPECT_EQ(complaint({.form = F::xpk, .options = {"w"}, .cluster = "c", .device_type = "t"}), "");
  EXPECT_EQ(
      complaint(
          {.form = F::jobset, .time_limit_s = 1, .queue = "q", .secret = "s", .claim = "c", .resources = {{"x", 1}}}),
      "");
  EXPECT_THAT(complaint({.form = F::docker, .time_limit_s = 1}), HasSubstr("--time: a file of --render docker"));
  EXPECT_THAT(complaint({.form = F::jobset, .options = {"w"}}), HasSubstr("--launch-option: "));
  EXPECT_THAT(complaint({.form = F::docker, .partition = "p"}), HasSubstr("--partition"));
  EXPECT_THAT(complaint({.form = F::slurm, .queue = "q"}), HasSubstr("--queue"));
  EXPECT_THAT(complaint({.form = F::xpk, .resources = {{"x", 1}}}), HasSubstr("--resource"));
  EXPECT_THAT(complaint({.form = F::slurm, .device_type = "t"}), HasSubstr("--device-type"));
  EXPECT_THAT(complaint({.form = F::slurm, .options = {"--x\nrm"}}), HasSubstr("line break"));
}

TEST_F(LaunchFiles, XpkGetsOneLineAndItsPlaceholdersSayWhatTheyAre) {
  image_ = "image";
  program_.command = {"python3",   "-c",    "import sys, json; print(json.dumps(sys.argv[1:]))",
                      "two words", "$HOME", "out={run_dir}_x"};
  const auto text = file(LaunchForm::xpk);
  const auto seen = seen_by_program(text, {{"CLUSTER", "c"}, {"DEVICE_TYPE", "h100-80gb-8"}});
  EXPECT_EQ(seen, (Json{"two words", "$HOME", "out=/tmp/perfbench_x"}));
  EXPECT_THAT(calls(), HasSubstr("workload create --workload=my-matrix-01234567 --cluster=c --device-type=h100-80gb-8 "
                                 "--num-nodes=1 --docker-image=image --max-restarts=0"));
  write_text(dir_ / "file", text.text);
  const auto end = run_process({.command = {"bash", (dir_ / "file").string()}, .working_dir = dir_}, {});
  EXPECT_THAT(end.error_output, HasSubstr("CLUSTER: name of the cluster of XPK"));
}

TEST_F(LaunchFiles, TheSiteFillsInWhatTheRequestLeavesOpen) {
  Site site;
  site.slurm = {.partition = "gpu", .options = {"--account=a b"}};
  site.kubernetes = {.image = "with-perfbench", .job = {.claim = "disk", .resources = {{"x", 1}, {"y", 1}}}};
  const auto slurm = with_site({.form = LaunchForm::slurm, .options = {"--time=1"}}, site, ImageHolds::program);
  EXPECT_EQ(slurm.partition, "gpu");
  EXPECT_THAT(render_launch_file(work(), slurm).text,
              HasSubstr("#SBATCH --partition=gpu\n#SBATCH '--account=a b'\n#SBATCH --time=1\n"));
  const LaunchFileRequest asked{.form = LaunchForm::jobset, .resources = {{"x", 2}}};
  EXPECT_EQ(with_site(asked, site, ImageHolds::perfbench).image, "with-perfbench");
  const auto of_program = with_site(asked, site, ImageHolds::program);
  EXPECT_EQ(of_program.image, "") << "a training program is not in perfbench's image";
  EXPECT_THAT(of_program.resources, ElementsAre(testing::Pair("x", 2), testing::Pair("y", 1)));
}

}  // namespace
}  // namespace perfbench::harness
