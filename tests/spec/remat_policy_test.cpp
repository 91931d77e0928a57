#include "workloads/spec/remat_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "workloads/spec/run_spec.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::spec {
namespace {

using ::testing::HasSubstr;

RematPlan plan(const std::string& policy, std::map<std::string, SavePlace> custom = {}) {
  RunSpec run;
  run.remat = policy;
  run.remat_custom = std::move(custom);
  return resolve_remat(run);
}

std::set<std::string> kept_names(const RematPlan& plan) {
  std::set<std::string> names;
  for (const auto& [value, name] : EnumNames<Saved>::kNames) {
    if (plan.keeps(value)) names.insert(std::string(name));
  }
  return names;
}

using Names = std::set<std::string>;

// As in MaxText's configs/base.yml, each with the layer's input, and for experts what holds for dense blocks.
TEST(RematPolicy, KeepsTheNamesOfMaxTextsPolicies) {
  EXPECT_EQ(kept_names(plan("full")), (Names{"layer_input"}));
  EXPECT_EQ(kept_names(plan("minimal")),
            (Names{"layer_input", "query_proj", "key_proj", "value_proj", "out_proj", "mlpwi_0", "mlpwi_1", "mlpwo",
                   "moe_mlpwi_0", "moe_mlpwi_1", "moe_mlpwo"}));
  EXPECT_EQ(kept_names(plan("minimal_flash")),
            (Names{"layer_input", "query_proj", "key_proj", "value_proj", "context", "out_proj", "mlpwi_0", "mlpwi_1",
                   "mlpwo", "moe_mlpwi_0", "moe_mlpwi_1", "moe_mlpwo"}));
  EXPECT_EQ(kept_names(plan("save_dot_with_context_except_mlp")),
            (Names{"layer_input", "query_proj", "key_proj", "value_proj", "context", "out_proj"}));
  EXPECT_EQ(kept_names(plan("save_dot_except_mlpwi")),
            (Names{"layer_input", "query_proj", "key_proj", "value_proj", "out_proj", "mlpwo", "moe_mlpwo"}));
  EXPECT_EQ(kept_names(plan("save_dot_except_mlp")),
            (Names{"layer_input", "query_proj", "key_proj", "value_proj", "out_proj"}));
  EXPECT_EQ(kept_names(plan("save_qkv_proj")), (Names{"layer_input", "query_proj", "key_proj", "value_proj"}));
  EXPECT_EQ(kept_names(plan("save_out_proj")), (Names{"layer_input", "out_proj"}));
}

TEST(RematPolicy, NoneKeepsEverything) {
  EXPECT_EQ(kept_names(plan("none")).size(), kSavedNames);
}

TEST(RematPolicy, OffloadedNamesWaitInHostMemory) {
  const auto offloaded = plan("qkv_proj_offloaded");
  EXPECT_EQ(offloaded[Saved::query_proj], SavePlace::offload);
  EXPECT_TRUE(offloaded.keeps(Saved::query_proj));
  EXPECT_EQ(offloaded[Saved::layer_input], SavePlace::device);
  EXPECT_EQ(offloaded[Saved::out_proj], SavePlace::remat);
}

TEST(RematPolicy, CustomStartsFromFull) {
  EXPECT_EQ(kept_names(plan("custom")), (Names{"layer_input"}));
  const auto custom = plan("custom", {{"context", SavePlace::device}, {"mlpwi_0", SavePlace::offload}});
  EXPECT_EQ(kept_names(custom), (Names{"layer_input", "context", "mlpwi_0", "moe_mlpwi_0"}));
  EXPECT_EQ(custom[Saved::mlpwi_0], SavePlace::offload);
  EXPECT_EQ(custom[Saved::moe_mlpwi_0], SavePlace::offload) << "of experts as of dense blocks";
  const auto apart = plan("custom", {{"mlpwi_0", SavePlace::device}, {"moe_mlpwi_0", SavePlace::remat}});
  EXPECT_EQ(kept_names(apart), (Names{"layer_input", "mlpwi_0"}));
}

TEST(RematPolicy, OneBufferCanHoldValuesWithTheSamePlace) {
  const auto custom = plan("custom", {{"key_proj", SavePlace::device}, {"mlpwi_0", SavePlace::offload}});
  EXPECT_FALSE(custom.places_alike({Saved::query_proj, Saved::key_proj, Saved::value_proj}));
  EXPECT_TRUE(custom.places_alike({Saved::query_proj, Saved::value_proj}));
  EXPECT_FALSE(custom.places_alike({Saved::mlpwi_0, Saved::mlpwi_1}));
  EXPECT_TRUE(plan("qkv_proj_offloaded").places_alike({Saved::query_proj, Saved::key_proj, Saved::value_proj}));
}

TEST(RematPolicy, EveryListedNameResolves) {
  for (const auto& name : remat_policy_names()) EXPECT_NO_THROW(plan(name)) << name;
  EXPECT_EQ(remat_policy_names().back(), "custom");
}

std::string policy_mistake(const std::string& policy, std::map<std::string, SavePlace> custom = {}) {
  try {
    plan(policy, std::move(custom));
  } catch (const SpecError& e) {
    return e.pointer() + ": " + e.what();
  }
  return "no error";
}

TEST(RematPolicy, AnUnknownNameIsAnErrorWithASuggestion) {
  EXPECT_THAT(policy_mistake("minimal_flsh"), HasSubstr("/remat: "));
  EXPECT_THAT(policy_mistake("minimal_flsh"), HasSubstr("did you mean 'minimal_flash'?"));
  EXPECT_THAT(policy_mistake("custom", {{"contxt", SavePlace::device}}), HasSubstr("/remat_custom/contxt: "));
  EXPECT_THAT(policy_mistake("custom", {{"layer_input", SavePlace::remat}}), HasSubstr("must be kept"));
}

}  // namespace
}  // namespace perfbench::spec
