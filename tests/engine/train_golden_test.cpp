// The engine compared with training runs that PyTorch computed in f64 (tests/golden/README.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/engine/training.h"
#include "workloads/spec/fields_json.h"

namespace perfbench::engine {
namespace {

namespace fs = std::filesystem;
using spec::Json;

// The repository's folder, unless this binary was carried to a machine without it: then PERFBENCH_GOLDEN_DIR names it.
fs::path golden_folder() {
  const char* set = std::getenv("PERFBENCH_GOLDEN_DIR");
  return set != nullptr ? fs::path(set) : fs::path(PERFBENCH_SOURCE_DIR) / "tests/golden";
}

Json load(const std::string& name) {
  std::ifstream file(golden_folder() / (name + ".json"));
  return Json::parse(file);
}

double largest(const Json& values) {
  double out = 0;
  for (const auto& v : values) out = std::max(out, v.get<double>());
  return out;
}

double l2(const std::vector<float>& values) {
  double sum = 0;
  for (const float v : values) sum += static_cast<double>(v) * v;
  return std::sqrt(sum);
}

// PyTorch's own f32 runs differ from its f64 run by up to fp32_abs_diff_*, the rounding errors of a few orders of
// summation. Ours sums in another order: the error has the same size but is another draw, and over a few steps the
// largest of many such draws stays below this multiple.
constexpr double kOrders = 8.0;

class Golden : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
    golden_ = load(GetParam());
    run_ = spec::fields_from_json<spec::RunSpec>(golden_.at("run"), spec::Missing::takes_default);
    init_ = init_rule(run_);
    init_.constants_std = golden_.at("init_perturb_std").get<double>();
  }
  Json golden_;
  spec::RunSpec run_;
  InitRule init_;
};

TEST_P(Golden, LossAndGradientNormFollowTheIndependentFramework) {
  for (const auto kind : {spec::AttentionKind::flash, spec::AttentionKind::dot_product}) {
    run_.attention = kind;
    TrainingRun training(run_, init_, make_single_collectives());
    const double loss_tolerance = kOrders * largest(golden_.at("fp32_abs_diff_loss"));
    const double norm_tolerance = kOrders * largest(golden_.at("fp32_abs_diff_gradient_norm"));
    for (std::int64_t i = 0; i < run_.steps; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto record = training.step();
      EXPECT_NEAR(record.loss, golden_.at("loss")[at].get<double>(), loss_tolerance) << "step " << i;
      EXPECT_NEAR(record.grad_norm, golden_.at("gradient_norm")[at].get<double>(), norm_tolerance) << "step " << i;
      EXPECT_DOUBLE_EQ(record.learning_rate, golden_.at("learning_rate")[at].get<double>());
      if (run_.counts_targets()) {
        EXPECT_EQ(record.loss_tokens, golden_.at("loss_tokens")[at].get<std::int64_t>()) << "step " << i;
        EXPECT_EQ(record.padding_tokens, golden_.at("padding_tokens")[at].get<std::int64_t>()) << "step " << i;
      }
      if (run_.model.moe.n_experts == 0) continue;
      EXPECT_EQ(record.dropped_choices, golden_.at("dropped_choices")[at].get<std::int64_t>()) << "step " << i;
      EXPECT_NEAR(record.balance_loss, golden_.at("auxiliary_loss")[at].get<double>(),
                  kOrders * largest(golden_.at("fp32_abs_diff_auxiliary_loss")))
          << "step " << i;
    }
  }
}

// The result of an evaluation after the last step.
class GoldenEvaluation : public Golden {};
INSTANTIATE_TEST_SUITE_P(Families, GoldenEvaluation, testing::Values("llama-tiny-sft"),
                         [](const auto&) { return std::string("llama_tiny_sft"); });

TEST_P(GoldenEvaluation, ScoresFollowTheIndependentFramework) {
  TrainingRun training(run_, init_, make_single_collectives());
  training.all_steps();
  auto* const evaluator = training.trainer().evaluator();
  for (std::int64_t i = 0; i < evaluator->steps(); ++i) evaluator->step(i);
  const auto& likelihoods = golden_.at("evaluation_log_likelihood");
  const double tolerance = kOrders * largest(golden_.at("fp32_abs_diff_evaluation_log_likelihood"));
  ASSERT_EQ(evaluator->rows().size(), likelihoods.size());
  for (std::size_t i = 0; i < likelihoods.size(); ++i) {
    EXPECT_NEAR(evaluator->rows()[i].log_likelihood, likelihoods[i].get<double>(), tolerance) << "row " << i;
    EXPECT_EQ(evaluator->rows()[i].missed, golden_.at("evaluation_missed")[i].get<std::int64_t>()) << "row " << i;
  }
}

TEST_P(Golden, EveryParametersGradientHasTheRightNorm) {
  TrainingRun training(run_, init_, make_single_collectives());
  training.step();
  const auto& norms = golden_.at("first_gradient_norm");
  const auto& differences = golden_.at("fp32_abs_diff_first_gradient_norm");
  const double floor = largest(differences);
  for (const auto& [name, norm] : norms.items()) {
    EXPECT_NEAR(l2(training.gradient(name)), norm.get<double>(), kOrders * floor) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Golden,
                         testing::Values("gpt-tiny", "gpt-tiny-accum2", "llama-tiny", "llama31-tiny", "qwen-tiny",
                                         "qwen3-tiny", "llama-tiny-geglu", "llama-tiny-sft", "llama-tiny-packed",
                                         "gpt-tiny-packed", "llama-tiny-lora", "gpt-tiny-lora-mlp", "gpt-tiny-dropout",
                                         "llama-tiny-dropout", "moe-tiny", "moe-tiny-capacity", "gshard-tiny",
                                         "t5-tiny", "glam-tiny"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace perfbench::engine
