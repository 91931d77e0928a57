#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "engine/core/error.h"
#include "engine/metrics/environment.h"
#include "engine/metrics/record_files.h"

namespace perfbench::engine {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RecordFiles : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::path(testing::TempDir()) / ("record_files." + std::to_string(::getpid()));
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }
  fs::path dir_;
};

TEST_F(RecordFiles, EveryLineIsOnDiskBeforeTheNext) {
  LineFile lines(dir_ / "steps.jsonl");
  lines.append("one");
  EXPECT_EQ(read_whole_file(dir_ / "steps.jsonl"), "one\n");
  lines.append("two");
  EXPECT_EQ(read_whole_file(dir_ / "steps.jsonl"), "one\ntwo\n");
}

TEST_F(RecordFiles, AFullDiskIsAnErrorThatNamesThePath) {
  LineFile full("/dev/full");
  try {
    full.append("line");
    FAIL() << "/dev/full took a line";
  } catch (const EngineError& e) {
    EXPECT_THAT(e.what(), HasSubstr("/dev/full"));
    EXPECT_THAT(e.what(), HasSubstr("No space left"));
  }
}

TEST_F(RecordFiles, AWholeFileLeavesNoPartialOneBehind) {
  write_whole_file(dir_ / "env.json", "{}");
  write_whole_file(dir_ / "env.json", "{\"a\":1}");
  EXPECT_EQ(read_whole_file(dir_ / "env.json"), "{\"a\":1}");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), fs::directory_iterator()), 1);
}

TEST_F(RecordFiles, AMissingFileIsBadInput) {
  EXPECT_THROW(read_whole_file(dir_ / "absent"), BadInput);
}

// A pipe without a reader or writer would block the engine until the harness ends it.
TEST_F(RecordFiles, APipeInTheirPlaceIsAnErrorAndDoesNotBlock) {
  const auto pipe = dir_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(read_whole_file(pipe), BadInput);
  EXPECT_THROW(LineFile lines(pipe), EngineError);
  fs::create_symlink("/dev/zero", dir_ / "endless");
  EXPECT_THROW(read_whole_file(dir_ / "endless"), BadInput);
  fs::create_directory(dir_ / "folder");
  EXPECT_THROW(read_whole_file(dir_ / "folder"), BadInput);
  EXPECT_THROW(write_whole_file(dir_ / "folder", "text"), EngineError);
}

TEST_F(RecordFiles, EnvironmentReadsTheFilesOfAnyRoot) {
  const auto put = [this](const char* path, const char* text) {
    fs::create_directories((dir_ / path).parent_path());
    write_whole_file(dir_ / path, text);
  };
  put("proc/cpuinfo", "processor\t: 0\nmodel name\t: Made Up @ 2GHz\nflags\t\t: fpu avx2 sse avx512f\n");
  put("proc/meminfo", "MemTotal:       16 kB\nMemAvailable:   8 kB\n");
  put("proc/loadavg", "1.25 0.5 0.1 1/100 42\n");
  put("etc/os-release", "NAME=\"X\"\nPRETTY_NAME=\"Made Up Linux 7\"\n");
  put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  const auto env = collect_environment({.root = dir_, .ranks = 2, .threads_per_rank = 3});
  EXPECT_EQ(env.cpu_model, "Made Up @ 2GHz");
  EXPECT_EQ(env.cpu_features, "avx2 avx512f");
  EXPECT_EQ(env.memory_bytes, 16 * 1024);
  EXPECT_EQ(env.memory_available_bytes, 8 * 1024);
  EXPECT_DOUBLE_EQ(env.load_1m, 1.25);
  EXPECT_EQ(env.os, "Made Up Linux 7");
  EXPECT_EQ(env.transparent_huge_pages, "madvise");
  EXPECT_EQ(env.governor, "powersave");
  EXPECT_EQ(env.ranks, 2);
  EXPECT_EQ(env.threads_per_rank, 3);
}

}  // namespace
}  // namespace perfbench::engine
