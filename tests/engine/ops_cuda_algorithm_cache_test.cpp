#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/core/error.h"
#include "engine/ops/cuda/matmul/algorithm_cache.h"

namespace perfbench::engine::cuda {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

const AlgorithmScope kScope{.gpu = "NVIDIA H100 80GB HBM3", .driver = "580.65.06", .library = "cublasLt 13.1.0"};
const ChosenAlgorithm kSlow{{1, 2, 3, 4, 5, 6, 7, 0xFFFFFFFFFFFFFFFF}, 200.0};
const ChosenAlgorithm kFast{{8, 7, 6, 5, 4, 3, 2, 1}, 100.5};

class AlgorithmCacheTest : public testing::Test {
 protected:
  AlgorithmCacheTest() : folder_(fs::path(testing::TempDir()) / ("algorithms_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
  }
  ~AlgorithmCacheTest() override { fs::remove_all(folder_); }

  fs::path file() const { return folder_ / cache_file_name(kScope); }
  std::string log_of_opening() const {
    std::ostringstream log;
    const AlgorithmCache cache(folder_, kScope, log);
    EXPECT_FALSE(cache.find("m=1").has_value());
    return log.str();
  }

  fs::path folder_;
  std::ostringstream log_;
};

TEST(FastestAlgorithm, HasTheLeastMedianNotTheLeastTime) {
  const std::vector<TimedAlgorithm> candidates = {{{1}, {10, 11, 12}}, {{2}, {5, 20, 21}}, {{3}, {9, 9.5, 400}}};
  EXPECT_EQ(fastest(candidates), (ChosenAlgorithm{{3}, 9.5}));
}

TEST(FastestAlgorithm, AmongEqualOnesIsTheLibrarysFirst) {
  const std::vector<TimedAlgorithm> candidates = {{{1}, {10}}, {{2}, {10}}};
  EXPECT_EQ(fastest(candidates).algorithm, (Algorithm{1}));
  EXPECT_THROW(fastest({}), LogicFault);
}

TEST_F(AlgorithmCacheTest, KeepsChoicesForTheNextProcess) {
  {
    AlgorithmCache cache(folder_, kScope, log_);
    EXPECT_EQ(cache.settle("m=1", kSlow), kSlow);
    EXPECT_EQ(cache.settle("m=2", kFast), kFast);
    EXPECT_EQ(cache.find("m=1"), kSlow);
  }
  const AlgorithmCache cache(folder_, kScope, log_);
  EXPECT_EQ(cache.find("m=1"), kSlow);
  EXPECT_EQ(cache.find("m=2"), kFast);
  EXPECT_EQ(cache.find("m=3"), std::nullopt);
  EXPECT_THAT(log_.str(), IsEmpty());
}

// Two ranks measure the same problem and would choose differently.
TEST_F(AlgorithmCacheTest, TheFirstProcessThatSettlesAProblemDecidesForAll) {
  AlgorithmCache one(folder_, kScope, log_);
  AlgorithmCache two(folder_, kScope, log_);
  EXPECT_EQ(one.settle("m=1", kSlow), kSlow);
  EXPECT_EQ(two.settle("m=1", kFast), kSlow);
  EXPECT_EQ(two.find("m=1"), kSlow);
  EXPECT_EQ(two.settle("m=2", kFast), kFast);
  EXPECT_EQ(one.settle("m=2", kSlow), kFast);
  EXPECT_EQ(AlgorithmCache(folder_, kScope, log_).find("m=1"), kSlow);
}

TEST_F(AlgorithmCacheTest, IgnoresADamagedFileWithOneLineAndWritesItAnew) {
  fs::create_directories(folder_);
  for (const auto* const text :
       {"", "{\"format\": 2", "[]", "{\"format\": 1}", "{\"format\": 2, \"scope\": {}, \"algorithms\": {}}"}) {
    std::ofstream(file()) << text;
    const auto log = log_of_opening();
    EXPECT_THAT(log, HasSubstr("ignoring " + file().string())) << text;
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << text;
  }
  AlgorithmCache(folder_, kScope, log_).settle("m=1", kSlow);
  std::ostringstream log;
  EXPECT_EQ(AlgorithmCache(folder_, kScope, log).find("m=1"), kSlow);
  EXPECT_THAT(log.str(), IsEmpty());
}

TEST_F(AlgorithmCacheTest, IgnoresAFileOfAnotherGpuOrVersion) {
  auto other = kScope;
  other.library = "cublasLt 13.2.0";
  AlgorithmCache(folder_, other, log_).settle("m=1", kSlow);
  EXPECT_THAT(log_of_opening(), IsEmpty());
  fs::rename(folder_ / cache_file_name(other), file());
  EXPECT_THAT(log_of_opening(), HasSubstr("13.2.0"));
}

// In its first format, the file distinguished alignments that are equal now, and had unmeasured choices beside measured
// ones.
TEST_F(AlgorithmCacheTest, IgnoresAFileOfTheFirstFormat) {
  AlgorithmCache(folder_, kScope, log_).settle("m=1", kSlow);
  auto json = nlohmann::json::parse(std::ifstream(file()));
  json["format"] = 1;
  std::ofstream(file()) << json;
  EXPECT_THAT(log_of_opening(), HasSubstr("format is not 2"));
}

TEST_F(AlgorithmCacheTest, IgnoresBitsOfAnotherLength) {
  AlgorithmCache(folder_, kScope, log_).settle("m=1", kSlow);
  auto json = nlohmann::json::parse(std::ifstream(file()));
  json["algorithms"]["m=1"]["bits"] = {1, 2};
  std::ofstream(file()) << json;
  EXPECT_THAT(log_of_opening(), HasSubstr("ignoring"));
}

TEST_F(AlgorithmCacheTest, GoesOnInMemoryIfNothingCanBeWritten) {
  fs::create_directories(folder_.parent_path());
  std::ofstream(folder_) << "a file in the folder's place";
  AlgorithmCache cache(folder_, kScope, log_);
  EXPECT_EQ(cache.settle("m=1", kFast), kFast);
  EXPECT_EQ(cache.settle("m=1", kSlow), kFast);
  EXPECT_THAT(log_.str(), HasSubstr("are not kept"));
  AlgorithmCache nowhere({}, kScope, log_);
  EXPECT_EQ(nowhere.settle("m=1", kSlow), kSlow);
}

TEST(AlgorithmCacheFile, IsNamedForGpuDriverAndLibrary) {
  EXPECT_EQ(cache_file_name(kScope), "nvidia-h100-80gb-hbm3_580.65.06_cublaslt-13.1.0.json");
}

class Environment {
 public:
  explicit Environment(const char* name) : name_(name), old_(std::getenv(name) == nullptr ? "" : std::getenv(name)) {}
  ~Environment() { ::setenv(name_, old_.c_str(), 1); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  void set(const char* value) const { ::setenv(name_, value, 1); }

 private:
  const char* name_;
  std::string old_;
};

TEST(AlgorithmCacheFile, LiesWhereTheUsersCachesAre) {
  const Environment xdg("XDG_CACHE_HOME");
  const Environment home("HOME");
  home.set("/home/someone");
  xdg.set("/caches");
  EXPECT_EQ(cache_folder(), "/caches/perfbench");
  xdg.set("relative");
  EXPECT_EQ(cache_folder(), "/home/someone/.cache/perfbench");
  xdg.set("");
  EXPECT_EQ(cache_folder(), "/home/someone/.cache/perfbench");
  home.set("");
  EXPECT_EQ(cache_folder(), "");
}

}  // namespace
}  // namespace perfbench::engine::cuda
