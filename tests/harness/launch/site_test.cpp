#include "harness/launch/site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "harness/system/input_error.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SiteTest : public testing::Test {
 protected:
  ~SiteTest() override { unsetenv("PERFBENCH_SITE"); }
  Site load(const std::string& text) {
    write_text(scratch_ / "site.yaml", text);
    setenv("PERFBENCH_SITE", (scratch_ / "site.yaml").c_str(), 1);
    return load_site();
  }
  std::string complaint(const std::string& text) {
    try {
      load(text);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  }
  const ScratchFolder scratch_;
};

TEST_F(SiteTest, FillsInWhatARequestLeavesOpen) {
  const auto site = load(
      "slurm: {partition: gpu, options: [--gres=gpu:8]}\n"
      "docker: {image: registry/perfbench}\n");
  auto request = with_site({.launcher = "slurm", .options = {"--time=60"}}, site);
  EXPECT_EQ(request.place, "gpu");
  EXPECT_THAT(request.options, ElementsAre("--gres=gpu:8", "--time=60"));  // the last word counts for sbatch
  EXPECT_EQ(with_site({.launcher = "slurm", .place = "short"}, site).place, "short");
  EXPECT_EQ(with_site({.launcher = "docker"}, site).image, "registry/perfbench");
  EXPECT_EQ(with_site({.launcher = "docker", .image = "mine"}, site).image, "mine");
  EXPECT_EQ(with_site({.launcher = "podman"}, site).image, "");
  const auto pod = with_site({.launcher = "kubernetes"}, load("kubernetes:\n  image: registry/perfbench\n"
                                                              "  namespace: perf\n  options: [--context=prod]\n"
                                                              "  claim: disk\n  folder: /mnt/disk\n"));
  EXPECT_EQ(pod.image, "registry/perfbench");
  EXPECT_EQ(pod.place, "perf");
  EXPECT_THAT(pod.options, ElementsAre("--context=prod"));
  EXPECT_EQ(pod.kubernetes, (KubernetesJob{.claim = "disk", .folder = "/mnt/disk"}));
  const LaunchRequest ssh{.launcher = "ssh", .place = "node1"};
  EXPECT_EQ(with_site(ssh, site), ssh);
}

TEST_F(SiteTest, AMistakeIsNamedWithItsPlace) {
  EXPECT_THAT(complaint("slurm:\n  partitoin: gpu\n"), HasSubstr("site.yaml:2:3"));
  EXPECT_THAT(complaint("slurm:\n  partitoin: gpu\n"), HasSubstr("partition"));
  EXPECT_THAT(complaint("slurm: {options: --gres=gpu:8}\n"), HasSubstr("site.yaml:1:"));
  EXPECT_THAT(complaint("nomad: {}\n"), HasSubstr("nomad"));
}

TEST_F(SiteTest, OnlyANamedFileHasToExist) {
  setenv("PERFBENCH_SITE", "/nonexistent/site.yaml", 1);
  EXPECT_THROW(load_site(), InputError);
  unsetenv("PERFBENCH_SITE");
  const std::string before = std::getenv("XDG_CONFIG_HOME") == nullptr ? "" : std::getenv("XDG_CONFIG_HOME");
  setenv("XDG_CONFIG_HOME", scratch_.path().c_str(), 1);
  EXPECT_EQ(site_file(), scratch_ / "perfbench" / "site.yaml");
  EXPECT_EQ(load_site().slurm.partition, "");
  std::filesystem::create_directories(scratch_ / "perfbench");
  write_text(scratch_ / "perfbench" / "site.yaml", "slurm: {partition: home}\n");
  EXPECT_EQ(load_site().slurm.partition, "home");
  unsetenv("XDG_CONFIG_HOME");
  if (!before.empty()) setenv("XDG_CONFIG_HOME", before.c_str(), 1);
}

}  // namespace
}  // namespace perfbench::harness
