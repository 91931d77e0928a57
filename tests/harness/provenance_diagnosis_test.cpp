#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "harness/provenance/diagnosis.h"

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
                                         .mpi = "Open MPI v4"};
  facts.probe_ns = {100, 101, 100, 102};
  facts.mpirun = true;
  facts.clock_source = "tsc";
  facts.turbo = "off";
  facts.disk_free_bytes = std::int64_t{100} << 30;
  return facts;
}

Finding about(const MachineFacts& facts, const std::string& subject) {
  for (const auto& finding : diagnose(facts)) {
    if (finding.subject == subject) return finding;
  }
  ADD_FAILURE() << "no finding about " << subject;
  return {};
}

TEST(Diagnosis, ACalmMachineHasNothingToComplainAbout) {
  for (const auto& finding : diagnose(calm_machine())) {
    EXPECT_EQ(finding.state, FindingState::ok) << finding.subject << ": " << finding.found;
  }
}

struct Trouble {
  const char* subject;
  FindingState state;
  const char* found;
  std::function<void(MachineFacts&)> make;
};

TEST(Diagnosis, EachTroubleIsFoundAndComesWithItsConsequence) {
  const std::vector<Trouble> troubles{
      {"engine", FindingState::fail, "no such file",
       [](MachineFacts& f) { f.engine.reset(), f.engine_error = "no such file"; }},
      {"engine", FindingState::warn, "Debug build", [](MachineFacts& f) { f.engine->build_type = "Debug"; }},
      {"engine", FindingState::warn, "changed tree", [](MachineFacts& f) { f.engine->git_dirty = true; }},
      {"noise probe", FindingState::warn, "50.0 %",
       [](MachineFacts& f) {
         f.probe_ns = {100, 150, 150, 150};
       }},
      {"other work", FindingState::warn, "3.00 on 8", [](MachineFacts& f) { f.load_1m = 3; }},
      {"cores", FindingState::warn, "4 of 8", [](MachineFacts& f) { f.engine->cores_allowed = 4; }},
      {"cores", FindingState::warn, "1.50 cores", [](MachineFacts& f) { f.cpu_quota = 1.5; }},
      {"memory", FindingState::warn, "1.0 GiB swapped", [](MachineFacts& f) { f.swap_used_bytes = 1 << 30; }},
      {"memory", FindingState::warn, "1.0 of 64.0",
       [](MachineFacts& f) { f.engine->memory_available_bytes = 1 << 30; }},
      {"disk", FindingState::warn, "1.0 GiB", [](MachineFacts& f) { f.disk_free_bytes = 1 << 30; }},
      {"frequency", FindingState::warn, "powersave", [](MachineFacts& f) { f.engine->governor = "powersave"; }},
      {"frequency", FindingState::warn, "turbo on", [](MachineFacts& f) { f.turbo = "on"; }},
      {"huge pages", FindingState::warn, "never", [](MachineFacts& f) { f.engine->transparent_huge_pages = "never"; }},
      {"clock", FindingState::warn, "hpet", [](MachineFacts& f) { f.clock_source = "hpet"; }},
      {"machine", FindingState::warn, "virtual", [](MachineFacts& f) { f.virtual_machine = true; }},
      {"MPI", FindingState::warn, "not found", [](MachineFacts& f) { f.mpirun = false; }},
      {"CUDA", FindingState::warn, "without CUDA",
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
  EXPECT_EQ(about(calm_machine(), "CUDA").found, "no CUDA device");
}

TEST(ProbeSpread, IsTheNinetiethPercentileOverTheSmallest) {
  EXPECT_DOUBLE_EQ(probe_spread({100, 100, 100, 100, 100, 100, 100, 100, 100, 130}), 0.3);
  EXPECT_DOUBLE_EQ(probe_spread({100}), 0);
  EXPECT_DOUBLE_EQ(probe_spread({}), 0);
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
  const auto facts = collect_facts({.engine = root / "absent-engine", .disk = root, .root = root});
  EXPECT_EQ(facts.swap_used_bytes, 6 * 1024);
  EXPECT_DOUBLE_EQ(facts.load_1m, 1.5);
  EXPECT_TRUE(facts.virtual_machine);
  EXPECT_TRUE(facts.cuda_device);
  EXPECT_EQ(facts.clock_source, "hpet");
  EXPECT_EQ(facts.turbo, "on");
  EXPECT_GT(facts.disk_free_bytes, 0);
  EXPECT_FALSE(facts.engine.has_value());
  EXPECT_THAT(facts.engine_error, HasSubstr("absent-engine"));
  fs::remove_all(root);
}

}  // namespace
}  // namespace perfbench::harness
