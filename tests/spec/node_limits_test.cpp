// The limits of control groups, in made-up trees of /proc and /sys.
#include "workloads/spec/node_limits.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "workloads/spec/node_facts.h"

namespace perfbench::spec {
namespace {

class NodeLimits : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  const std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("node_limits.") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(NodeLimits, TheQuotaIsTheSmallestUpTheHierarchyOfVersion2) {
  write("proc/self/cgroup", "0::/pods/pod1/box\n");
  write("sys/fs/cgroup/pods/pod1/box/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/pods/pod1/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/pods/cpu.max", "800000 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root_), 1.5);
}

TEST_F(NodeLimits, TheMemoryLimitIsTheSmallestUpTheHierarchy) {
  write("proc/self/cgroup", "0::/pods/pod1/box\n");
  write("sys/fs/cgroup/pods/pod1/box/memory.max", "max\n");
  EXPECT_EQ(cgroup_memory_limit_bytes(root_), std::nullopt);
  write("sys/fs/cgroup/pods/pod1/memory.max", "4294967296\n");
  write("sys/fs/cgroup/pods/memory.max", "8589934592\n");
  EXPECT_EQ(cgroup_memory_limit_bytes(root_), 0x1p32);
  write("proc/self/cgroup", "12:memory:/docker/1f\n");
  write("sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes", "1073741824\n");
  EXPECT_EQ(cgroup_memory_limit_bytes(root_), 0x1p30);
}

TEST_F(NodeLimits, AvailableMemoryIsAtMostTheLimit) {
  write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n");
  EXPECT_EQ(node_facts(root_).memory_available_bytes, std::int64_t{1} << 32);
  write("proc/self/cgroup", "0::/pod\n");
  write("sys/fs/cgroup/pod/memory.max", "1073741824\n");
  EXPECT_EQ(node_facts(root_).memory_available_bytes, std::int64_t{1} << 30);
}

TEST_F(NodeLimits, TheQuotaIsReadFromVersion1) {
  write("proc/self/cgroup", "12:memory:/x\n4:cpu,cpuacct:/docker/1f\n0::/\n");
  write("sys/fs/cgroup/cpu/docker/1f/cpu.cfs_quota_us", "400000\n");
  write("sys/fs/cgroup/cpu/docker/1f/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpu_quota(root_), 4.0);
}

TEST_F(NodeLimits, TheQuotaIsAbsentWithoutControlGroups) {
  EXPECT_EQ(cgroup_cpu_quota(root_), std::nullopt);
  write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(cgroup_cpu_quota(root_), std::nullopt);
}

TEST_F(NodeLimits, CoresAreLimitedByAffinityAndWholeCoresOfTheQuota) {
  EXPECT_EQ(cores_within_quota(8, root_), 8);
  EXPECT_EQ(cores_within_quota(0, root_), 1);
  write("proc/self/cgroup", "0::/\n");
  const auto cores_with = [&](const char* quota_us) {
    write("sys/fs/cgroup/cpu.max", std::string(quota_us) + " 100000\n");
    return cores_within_quota(8, root_);
  };
  EXPECT_EQ(cores_with("50000"), 1);
  EXPECT_EQ(cores_with("270000"), 2);
  EXPECT_EQ(cores_with("1200000"), 8);
  EXPECT_EQ(cores_with("max"), 8);
  EXPECT_GE(allowed_cores(), 1);
}

}  // namespace
}  // namespace perfbench::spec
