// The algorithm that a product gets, and what is kept of the choice: problems met within a recording cannot be
// measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/ops/cuda/host/recordings.h"
#include "engine/ops/cuda/matmul/matmul_provider.h"
#include "tests/engine/fake_cuda/fake_cuda.h"

namespace perfbench::engine {
namespace {

namespace fs = std::filesystem;
using cuda::MatmulProvider;
using fake_cuda::answers;
using fake_cuda::calls;
using testing::ElementsAre;
using testing::Gt;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kGuess = 1;  // the library's first algorithm; 2 is the fastest

class MatmulProviderTest : public testing::Test {
 protected:
  MatmulProviderTest() : folder_(fs::path(testing::TempDir()) / ("products_" + std::to_string(::getpid()))) {
    fake_cuda::begin();
    fs::remove_all(folder_);
    ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  ~MatmulProviderTest() override {
    ::unsetenv("XDG_CACHE_HOME");
    fs::remove_all(folder_);
  }

  cuda::Product product(Write write, Additions additions = Additions::none) {
    const cuda::Matrix matrix{.data = values_.data(), .row_stride = 4};
    return {.m = 4,
            .n = 4,
            .k = 4,
            .a = matrix,
            .b = matrix,
            .c = matrix,
            .transpose_a = Transpose::yes,
            .write = write,
            .additions = additions};
  }

  // The algorithms of all products that the library computed, including trials; negative: added to the result.
  std::vector<std::int64_t> run(MatmulProvider& provider, const cuda::Product& product) {
    const std::size_t before = calls({"cublasLtMatmul"}).size();
    provider.run(product, {});
    std::vector<std::int64_t> algorithms;
    for (const auto& call : calls({"cublasLtMatmul"})) algorithms.push_back(call.value);
    algorithms.erase(algorithms.begin(), algorithms.begin() + static_cast<std::ptrdiff_t>(before));
    return algorithms;
  }
  std::vector<std::int64_t> run_recorded(MatmulProvider& provider, const cuda::Product& product) {
    recorder_.begin();
    const auto algorithms = run(provider, product);
    recording_ = recorder_.end(std::move(recording_));
    return algorithms;
  }

  // The times in the file, by problem.
  std::vector<double> kept_times_ns() const {
    std::vector<double> times;
    if (!fs::exists(folder_ / "perfbench")) return times;
    for (const auto& entry : fs::directory_iterator(folder_ / "perfbench")) {
      if (entry.path().extension() != ".json") continue;
      const auto json = nlohmann::json::parse(std::ifstream(entry.path()));
      for (const auto& choice : json.at("algorithms")) times.push_back(choice.at("time_ns").get<double>());
    }
    return times;
  }

  fs::path folder_;
  alignas(16) std::array<float, 16> values_{};
  CudaDevice device_{0};
  cuda::GraphRecorder recorder_{device_.compute()};
  std::unique_ptr<Recording> recording_;
};

TEST_F(MatmulProviderTest, MeasuresAProblemOnceAndKeepsTheFastest) {
  {
    MatmulProvider provider(device_, cuda::F32Products::exact);
    const auto tried = run(provider, product(Write::overwrite));
    EXPECT_THAT(tried, SizeIs(Gt(3)));
    EXPECT_EQ(tried.back(), 2);
    EXPECT_THAT(run(provider, product(Write::overwrite)), ElementsAre(2));
    EXPECT_THAT(kept_times_ns(), ElementsAre(1e6));
  }
  answers().fastest = 3;
  MatmulProvider next_process(device_, cuda::F32Products::exact);
  EXPECT_THAT(run(next_process, product(Write::overwrite)), ElementsAre(2));
}

TEST_F(MatmulProviderTest, UsesTheLibrarysGuessWithinARecordingWithoutKeepingIt) {
  MatmulProvider provider(device_, cuda::F32Products::exact);
  EXPECT_THAT(run_recorded(provider, product(Write::overwrite)), ElementsAre(kGuess));
  EXPECT_THAT(run_recorded(provider, product(Write::overwrite)), ElementsAre(kGuess));
  EXPECT_THAT(kept_times_ns(), IsEmpty());
  // Outside a recording it is measured; recordings use that choice from then on.
  EXPECT_EQ(run(provider, product(Write::overwrite)).back(), 2);
  EXPECT_THAT(kept_times_ns(), ElementsAre(1e6));
  EXPECT_THAT(run_recorded(provider, product(Write::overwrite)), ElementsAre(2));
  EXPECT_THAT(run(provider, product(Write::overwrite)), ElementsAre(2));
}

// Between the recording and the trial, the memory of the pre-activation was given to something else.
TEST_F(MatmulProviderTest, TriesAnEpilogueOnTheCurrentProductsPreactivation) {
  MatmulProvider provider(device_, cuda::F32Products::exact);
  alignas(16) std::array<float, 16> others{};
  alignas(16) std::array<float, 16> own{};
  auto gelu = product(Write::overwrite);
  gelu.epilogue = Epilogue::gelu_tanh;
  gelu.preactivation = others.data();
  run_recorded(provider, gelu);
  others[0] = 5.0F;
  gelu.preactivation = own.data();
  run(provider, gelu);
  EXPECT_EQ(others[0], 5.0F);
  EXPECT_EQ(own[0], 2.0F);
}

TEST_F(MatmulProviderTest, RequestsFastAccumulationIfWantedAndChoosesAnAlgorithmForIt) {
  MatmulProvider provider(device_, cuda::F32Products::exact);
  run(provider, product(Write::overwrite));
  EXPECT_THAT(calls({"fast_accumulation"}), IsEmpty());
  auto fast = product(Write::overwrite);
  fast.accumulation = cuda::Accumulation::fast;
  EXPECT_THAT(run(provider, fast), SizeIs(Gt(3))) << "measured for itself";
  EXPECT_THAT(calls({"fast_accumulation"}), ElementsAre(testing::Field(&fake_cuda::Call::value, 1)));
}

TEST_F(MatmulProviderTest, WithinARecordingUsesAnEarlierMeasurement) {
  {
    MatmulProvider provider(device_, cuda::F32Products::exact);
    run(provider, product(Write::overwrite));
  }
  MatmulProvider provider(device_, cuda::F32Products::exact);
  EXPECT_THAT(run_recorded(provider, product(Write::overwrite)), ElementsAre(2));
}

// Microbatches after the first add to gradients that it overwrote, and may do so only within a recording.
TEST_F(MatmulProviderTest, MeasuresTheAdditionThatFollowsWithTheProductItFollows) {
  MatmulProvider provider(device_, cuda::F32Products::exact);
  const auto tried = run(provider, product(Write::overwrite, Additions::follow));
  EXPECT_EQ(tried.back(), 2);
  EXPECT_EQ(std::count(tried.begin(), tried.end(), -1), std::count(tried.begin(), tried.end(), 1));
  // Tried on the product's own result, before that is computed.
  EXPECT_THAT(calls({"cudaMalloc"}), IsEmpty());
  EXPECT_EQ(values_[0], 2.0F);
  EXPECT_THAT(kept_times_ns(), ElementsAre(1e6, 1e6));
  EXPECT_THAT(run_recorded(provider, product(Write::accumulate)), ElementsAre(-2));
  EXPECT_THAT(run(provider, product(Write::overwrite, Additions::follow)), ElementsAre(2));
}

TEST_F(MatmulProviderTest, TriesAnAdditionElsewhereThanOnItsSum) {
  MatmulProvider provider(device_, cuda::F32Products::exact);
  values_[0] = 5.0F;
  run(provider, product(Write::accumulate));
  EXPECT_THAT(calls({"cudaMalloc"}), SizeIs(1));
  EXPECT_EQ(values_[0], 7.0F);
}

// Otherwise a full card would compute other bits than an empty one.
TEST_F(MatmulProviderTest, MeasuresAnAdditionOnItsSumIfTheDeviceIsFullAndRestoresTheSum) {
  MatmulProvider provider(device_, cuda::F32Products::exact);
  answers().memory_is_left = false;
  values_[0] = 5.0F;
  auto addition = product(Write::accumulate);
  addition.n = 2;  // of rows of four
  const auto tried = run(provider, addition);
  EXPECT_THAT(tried, SizeIs(Gt(3)));
  EXPECT_EQ(tried.back(), -2);
  EXPECT_EQ(values_[0], 7.0F);
  EXPECT_THAT(kept_times_ns(), ElementsAre(1e6));
}

TEST_F(MatmulProviderTest, KeepsNoGuessIfThereIsNoChoice) {
  MatmulProvider provider(device_, cuda::F32Products::exact);
  answers().algorithms = 1;
  EXPECT_THAT(run(provider, product(Write::overwrite)), ElementsAre(kGuess));
  EXPECT_THAT(kept_times_ns(), IsEmpty());
}

}  // namespace
}  // namespace perfbench::engine
