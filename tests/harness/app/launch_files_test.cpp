// Launch files of whole matrices.
#include "harness/app/sweep/launch_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/matrix/matrix.h"
#include "harness/system/input_error.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class LaunchFilesOfMatrices : public testing::Test {
 protected:
  void SetUp() override {
    write_text(scratch_ / "site.yaml", "slurm: {partition: gpu}\ndocker: {image: with-perfbench}\n");
    setenv("PERFBENCH_SITE", (scratch_ / "site.yaml").c_str(), 1);
  }
  void TearDown() override { unsetenv("PERFBENCH_SITE"); }
  LaunchFilesRequest own(const std::string& matrix, const Overrides& overrides = {}) const {
    write_text(scratch_ / "own.yaml", matrix);
    return {.matrix = {.file = scratch_ / "own.yaml", .overrides = overrides}};
  }

  ScratchFolder scratch_;
};

// The published run of JAX-Toolbox's docs/frameworks/maxtext/example_slurm.sub (commit bcbbfa578be9).
TEST_F(LaunchFilesOfMatrices, MaxTextHasTheOptionsThatItsDocumentsRecommend) {
  LaunchFilesRequest request{
      .matrix = {.file = "maxtext",
                 .overrides = {.only = {"attention=flash", "remat=minimal_flash", "scan=false", "device=cuda"}},
                 .program = {.program = "maxtext"}},
      .file = {.image = "ghcr.io/nvidia/jax:maxtext", .time_limit_s = 1200}};
  const auto files = launch_files(request, {}).files;
  ASSERT_THAT(files, SizeIs(testing::Ge(1U)));
  const auto& text = files.front().text;
  for (const auto* option : {"#SBATCH --nodes=1\n",
                             "#SBATCH --time=00:20:00\n",
                             "#SBATCH --exclusive\n",
                             "#SBATCH --mem=0\n",
                             "#SBATCH --partition=gpu\n",
                             "#SBATCH --gpus-per-node=8\n",
                             "--container-image=ghcr.io/nvidia/jax:maxtext",
                             "XLA_PYTHON_CLIENT_MEM_FRACTION=0.90",
                             "CUDA_DEVICE_MAX_CONNECTIONS=1",
                             "NVTE_FUSED_ATTN=1",
                             "model_name=llama2-7b",
                             "per_device_batch_size=2",
                             "steps=15",
                             "scan_layers=false",
                             "attention=cudnn_flash_te",
                             "max_target_length=4096",
                             "logits_dot_in_fp32=false",
                             "enable_checkpointing=false",
                             "dataset_type=synthetic",
                             "ici_fsdp_parallelism=8"}) {
    EXPECT_THAT(text, HasSubstr(option));
  }
  for (const auto* flag :
       {"--xla_gpu_enable_latency_hiding_scheduler=true",
        "--xla_gpu_enable_command_buffer=", "--xla_gpu_all_reduce_combine_threshold_bytes=1073741824",
        "--xla_gpu_all_gather_combine_threshold_bytes=1073741824",
        "--xla_gpu_reduce_scatter_combine_threshold_bytes=134217728", "--xla_gpu_enable_pipelined_all_gather=true",
        "--xla_gpu_enable_pipelined_reduce_scatter=true", "--xla_gpu_enable_pipelined_all_reduce=true",
        "--xla_gpu_enable_while_loop_double_buffering=true", "--xla_gpu_enable_all_gather_combine_by_dim=false",
        "--xla_gpu_enable_reduce_scatter_combine_by_dim=false", "--xla_disable_hlo_passes=rematerialization"}) {
    EXPECT_THAT(text, HasSubstr(flag));
  }
}

TEST_F(LaunchFilesOfMatrices, AJobOfTheEngineHasTheMatrixAndSelectsItsCell) {
  const auto files = launch_files(own("name: own\ndefaults: {model: gpt-tiny, seq_len: 64, global_batch: 4}\n"
                                      "axes: {attention: [flash, dot_product], steps: [5, 6]}\n",
                                      {.only = {"steps=6"}, .set = {"seed=7"}}),
                                  {})
                         .files;
  ASSERT_THAT(files, SizeIs(2));
  EXPECT_NE(files[0].name, files[1].name);
  EXPECT_THAT(files[0].text, AllOf(Not(HasSubstr("cat >")),
                                   HasSubstr("own.yaml --db=\"${RUN_DIR}\"/perf.db --only=steps=6 "
                                             "--only=attention=flash --only=steps=6 --only=seed=7 --set=seed=7\n"),
                                   HasSubstr("#SBATCH --partition=gpu\n")));
  LaunchFilesRequest installed{.matrix = {.file = "quickstart", .overrides = {.only = {"attention=flash"}}},
                               .file = {.form = LaunchForm::docker}};
  const auto docker = launch_files(installed, {}).files;
  ASSERT_THAT(docker, Not(IsEmpty()));
  EXPECT_THAT(docker[0].text,
              AllOf(HasSubstr("exec perfbench sweep quickstart --db="), Not(HasSubstr("cat >")),
                    HasSubstr("--user=\"$(id -u):$(id -g)\""), HasSubstr("--entrypoint=sh with-perfbench ")));
  auto embedded = own("name: own\ndefaults: {model: gpt-tiny, seq_len: 64, global_batch: 4}\n");
  embedded.file = {.form = LaunchForm::jobset, .image = "image"};
  const auto jobset = launch_files(embedded, {}).files;
  ASSERT_THAT(jobset, SizeIs(1));
  EXPECT_THAT(jobset[0].text,
              AllOf(HasSubstr("/matrix.yaml <<'END'\n"), HasSubstr(" name: own\n"), HasSubstr("fsGroup:")));
}

TEST_F(LaunchFilesOfMatrices, ACellThatHasNoFileSaysWhy) {
  auto model = read_text(PERFBENCH_SOURCE_DIR "/workloads/models/gpt-tiny.yaml");
  for (const auto& [from, to] : {std::pair{"layers: 2", "layers: 3"}, {"name: gpt-tiny", "name: mine"}}) {
    model.replace(model.find(from), std::string(from).size(), to);
    write_text(scratch_ / "my.yaml", model);
    auto request = own("name: own\ndefaults: {model: ./my.yaml, seq_len: 64, global_batch: 4}\n");
    EXPECT_THAT(launch_files(request, {}).files, SizeIs(1)) << "a job without an image has the files of here";
    request.file = {.form = LaunchForm::docker};
    EXPECT_THAT(launch_files(request, {}).refused,
                ElementsAre(HasSubstr("is in a file of its own, which the image does not have")));
  }
  EXPECT_THAT(launch_files(own("name: own\ndefaults: {model: gpt-tiny, seq_len: 64, global_batch: 16, device: cuda, "
                               "hardware: h100, dp: 16}\n"),
                           {})
                  .refused,
              ElementsAre(HasSubstr("16 devices are inside a node, but a node of h100 has 8")));
  fs::create_directories(scratch_ / "kept");
  auto restores =
      own("name: own\ndefaults: {model: gpt-tiny, seq_len: 64, global_batch: 4, checkpoint: {restore: kept}}\n");
  restores.file = {.form = LaunchForm::docker};
  EXPECT_THAT(launch_files(restores, {}).refused, ElementsAre(HasSubstr("kept, which the image does not have")));
  auto several = own("name: own\ndefaults: {model: gpt-tiny, seq_len: 64, global_batch: 4, dcn_dp: 2}\n");
  several.file = {.form = LaunchForm::jobset, .image = "image"};
  EXPECT_THAT(launch_files(several, {}).refused, ElementsAre(HasSubstr("needs an allocation of Slurm")));
}

}  // namespace
}  // namespace perfbench::harness
