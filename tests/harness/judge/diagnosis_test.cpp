#include "harness/judge/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "harness/execute/machine_facts.h"
#include "harness/execute/machine_load.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

MachineFacts calm_machine() {
  MachineFacts facts;
  facts.engine = spec::EnvironmentRecord{.cores_online = 8,
                                         .cores_allowed = 8,
                                         .governor = "performance",
                                         .memory_bytes = std::int64_t{64} << 30,
                                         .memory_available_bytes = std::int64_t{60} << 30,
                                         .transparent_huge_pages = "madvise",
                                         .build_type = "Release",
                                         .mpi = "Open MPI v4",
                                         .cuda = "absent"};
  facts.probe_ns = {100, 101, 100, 102};
  facts.mpirun = true;
  facts.clock_source = "tsc";
  facts.turbo = "off";
  facts.disk_free_bytes = std::int64_t{100} << 30;
  return facts;
}

Observation about(const MachineFacts& facts, const std::string& subject) {
  for (const auto& finding : diagnose(facts)) {
    if (finding.subject == subject) return finding;
  }
  ADD_FAILURE() << "no finding about " << subject;
  return {};
}

TEST(Diagnosis, AQuietMachineHasNoProblems) {
  for (const auto& finding : diagnose(calm_machine())) {
    EXPECT_EQ(finding.state, ObservationState::ok) << finding.subject << ": " << finding.found;
  }
}

struct Trouble {
  const char* subject;
  ObservationState state;
  const char* found;
  std::function<void(MachineFacts&)> make;
};

TEST(Diagnosis, EachTroubleIsFoundAndComesWithItsConsequence) {
  const std::vector<Trouble> troubles{
      {"engine", ObservationState::fail, "no such file",
       [](MachineFacts& f) { f.engine.reset(), f.engine_error = "no such file"; }},
      {"engine", ObservationState::warn, "Debug build", [](MachineFacts& f) { f.engine->build_type = "Debug"; }},
      {"engine", ObservationState::warn, "modified tree", [](MachineFacts& f) { f.engine->git_dirty = true; }},
      {"noise probe", ObservationState::warn,
       "50.0 %",  // nine tenths of the way from 100 to 150, relative to a median of 100
       [](MachineFacts& f) {
         f.probe_ns = {100, 100, 100, 150, 150};
       }},
      {"other work", ObservationState::warn, "3.00 on 8", [](MachineFacts& f) { f.load_1m = 3; }},
      {"other work", ObservationState::warn, "; ninja (pid 7) on 1.50 cores, cc1plus (pid 9) on 0.25 cores",
       [](MachineFacts& f) {
         f.activity.busy = {{7, "ninja", 1.5}, {9, "cc1plus", 0.25}};
       }},
      {"steal time", ObservationState::warn, "3.0 %", [](MachineFacts& f) { f.activity.steal_fraction = 0.03; }},
      {"cores", ObservationState::warn, "two to a physical core", [](MachineFacts& f) { f.shared_cores = true; }},
      {"cores", ObservationState::warn, "4 of 8", [](MachineFacts& f) { f.engine->cores_allowed = 4; }},
      {"cores", ObservationState::warn, "1.50 cores", [](MachineFacts& f) { f.cpu_quota = 1.5; }},
      {"memory", ObservationState::warn, "1.0 GiB swapped", [](MachineFacts& f) { f.swap_used_bytes = 1 << 30; }},
      {"cores", ObservationState::warn, "2.50 cores' worth of 8",
       [](MachineFacts& f) {
         f.cpu_quota = 2.5;
         f.engine->cores_allowed = 2;
       }},
      {"cores", ObservationState::warn, "2 of 8",  // by affinity; the quota does not reduce it
       [](MachineFacts& f) {
         f.cpu_quota = 4;
         f.engine->cores_allowed = 2;
       }},
      {"memory", ObservationState::warn, "a control group allows 8.0 of 64.0 GiB",
       [](MachineFacts& f) { f.memory_limit_bytes = 0x1p33; }},
      {"memory", ObservationState::warn, "1.0 of 64.0",
       [](MachineFacts& f) { f.engine->memory_available_bytes = 1 << 30; }},
      {"disk", ObservationState::warn, "1.0 GiB", [](MachineFacts& f) { f.disk_free_bytes = 1 << 30; }},
      {"frequency", ObservationState::warn, "powersave", [](MachineFacts& f) { f.engine->governor = "powersave"; }},
      {"frequency", ObservationState::warn, "turbo on", [](MachineFacts& f) { f.turbo = "on"; }},
      {"huge pages", ObservationState::warn, "never",
       [](MachineFacts& f) { f.engine->transparent_huge_pages = "never"; }},
      {"clock", ObservationState::warn, "hpet", [](MachineFacts& f) { f.clock_source = "hpet"; }},
      {"machine", ObservationState::warn, "virtual", [](MachineFacts& f) { f.virtual_machine = true; }},
      {"MPI", ObservationState::warn, "not found", [](MachineFacts& f) { f.mpirun = false; }},
      {"launcher", ObservationState::warn, "the environment has A, B, C and 2 more",
       [](MachineFacts& f) {
         f.launcher_variables = {"A", "B", "C", "D", "E"};
       }},
      {"CUDA", ObservationState::warn, "without CUDA",
       [](MachineFacts& f) { f.cuda_device = true, f.engine->cuda = "absent"; }},
  };
  for (const auto& trouble : troubles) {
    auto facts = calm_machine();
    trouble.make(facts);
    const auto finding = about(facts, trouble.subject);
    EXPECT_EQ(finding.state, trouble.state) << trouble.subject << ": " << finding.found;
    EXPECT_THAT(finding.found, HasSubstr(trouble.found));
    EXPECT_FALSE(finding.spoils.empty()) << trouble.subject;
    EXPECT_FALSE(finding.fix.empty()) << trouble.subject;
  }
}

TEST(Diagnosis, AMachineWithoutAGpuSaysSo) {
  EXPECT_EQ(about(calm_machine(), "CUDA").found, "no device, engine without CUDA");
}

TEST(Diagnosis, AGpuIsNamedOrTheReasonWhyItCannotBeUsed) {
  auto facts = calm_machine();
  facts.cuda_device = true;
  EXPECT_EQ(about(facts, "CUDA").state, ObservationState::warn);  // an engine without CUDA
  facts.engine->cuda = "13.0";
  facts.engine->gpu_problem = "no NVIDIA driver is loaded";
  EXPECT_EQ(about(facts, "CUDA").found, "a device that cannot be used: no NVIDIA driver is loaded");
  EXPECT_EQ(about(facts, "CUDA").state, ObservationState::warn);
  facts.engine->gpus = 8;
  facts.engine->gpu_model = "NVIDIA H100 80GB HBM3";
  facts.engine->gpu_driver = "580.65.06";
  EXPECT_EQ(about(facts, "CUDA").found, "8 x NVIDIA H100 80GB HBM3, driver 580.65.06, toolkit 13.0");
  EXPECT_EQ(about(facts, "CUDA").state, ObservationState::ok);
}

class CpuActivityOfFiles : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(root_); }
  void TearDown() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  // `used` ticks of user time, in a process whose name is meant to confuse.
  void put_process(int pid, const std::string& name, int used) {
    put("proc/" + std::to_string(pid) + "/stat",
        std::to_string(pid) + " (" + name + ") S 1 1 1 0 -1 0 0 0 0 0 " + std::to_string(used) + " 5 0 0 20 0 1 0");
  }
  const fs::path root_ = fs::path(testing::TempDir()) / "cpu_activity_root";
};

TEST_F(CpuActivityOfFiles, NamesBusyProcessesAndStolenTime) {
  put("proc/stat", "cpu  100 0 0 900 0 0 0 10 0 0\ncpu0 50 0 0 450\ncpu1 50 0 0 450\nintr 1\n");
  put_process(7, "a) b (c", 100);
  put_process(8, "idle", 3);
  put_process(9, "self", 0);
  put("proc/self/stat", "9 (self) R");
  const auto before = read_cpu_snapshot(root_);
  // 200 ticks on two cores: 100 a core, of which 20 stolen.
  put("proc/stat", "cpu  240 0 0 940 0 0 0 30 0 0\ncpu0 50 0 0 450\ncpu1 50 0 0 450\nintr 1\n");
  put_process(7, "a) b (c", 150);
  put_process(9, "self", 40);
  put_process(11, "new", 75);  // with 5 of system time
  const auto activity = activity_between(before, read_cpu_snapshot(root_), 9);
  EXPECT_DOUBLE_EQ(activity.steal_fraction, 0.1);
  ASSERT_EQ(activity.busy.size(), 2U);
  EXPECT_EQ(activity.busy[0].name, "new");
  EXPECT_DOUBLE_EQ(activity.busy[0].cores, 0.8);
  EXPECT_EQ(activity.busy[1].name, "a) b (c");
  EXPECT_DOUBLE_EQ(activity.busy[1].cores, 0.5);
}

TEST(EngineAnswer, IsOfAnEngineWithItsOwnLibraries) {
  const auto engine = testing::TempDir() + "engine_that_tells_its_libraries.sh";
  std::ofstream(engine) << "#!/bin/sh\n[ \"${LD_LIBRARY_PATH%%:*}\" = /kept ] && exit 3\nexit 4\n";
  fs::permissions(engine, fs::perms::all);
  EXPECT_THAT(ask_engine_environment({engine}).error, HasSubstr("exit code 4"));
  EXPECT_THAT(ask_engine_environment({engine, "/kept"}).error, HasSubstr("exit code 3"));
}

TEST(MachineFacts, AreReadFromTheFilesOfAnyRootAndAMissingEngineIsAFact) {
  const fs::path root = fs::path(testing::TempDir()) / "facts_root";
  const auto put = [&root](const char* path, const char* text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  put("proc/meminfo", "MemTotal: 100 kB\nSwapTotal:  10 kB\nSwapFree:  4 kB\n");
  put("proc/loadavg", "1.5 1 1 1/1 1\n");
  put("proc/cpuinfo", "flags : fpu hypervisor avx\n");
  put("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  put("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
  put("dev/nvidia0", "");
  ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  const auto facts = collect_facts({.engine = {root / "absent-engine"}, .disk = root, .root = root});
  EXPECT_EQ(facts.swap_used_bytes, 6 * 1024);
  EXPECT_DOUBLE_EQ(facts.load_1m, 1.5);
  EXPECT_TRUE(facts.virtual_machine);
  EXPECT_TRUE(facts.cuda_device);
  EXPECT_EQ(facts.clock_source, "hpet");
  EXPECT_EQ(facts.turbo, "on");
  EXPECT_GT(facts.disk_free_bytes, 0);
  ::unsetenv("OMPI_COMM_WORLD_RANK");
  EXPECT_THAT(facts.launcher_variables, testing::Contains("OMPI_COMM_WORLD_RANK"));
  EXPECT_FALSE(facts.engine.has_value());
  EXPECT_THAT(facts.engine_error, HasSubstr("absent-engine"));
  fs::remove_all(root);
}

}  // namespace
}  // namespace perfbench::harness
