#include "workloads/spec/remat_policy.h"

#include <utility>

#include "workloads/spec/run_spec.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::spec {
namespace {

using enum Saved;

struct Policy {
  std::string_view name;
  std::vector<Saved> kept;       // besides layer_input; names with mlp* include the moe_mlp* ones
  std::vector<Saved> offloaded;  // kept in host memory
};

// MaxText's policies (base.yml remat_policy), plus none and full.
const std::vector<Policy>& policies() {
  static const std::vector<Policy> kTable{
      {"none",
       {norm_statistics, query_proj, key_proj, value_proj, attention_weights, context, out_proj, mlpwi_0, mlpwi_1,
        mlpwo},
       {}},
      {"full", {}, {}},
      {"minimal", {query_proj, key_proj, value_proj, out_proj, mlpwi_0, mlpwi_1, mlpwo}, {}},
      {"minimal_flash", {query_proj, key_proj, value_proj, context, out_proj, mlpwi_0, mlpwi_1, mlpwo}, {}},
      {"save_dot_with_context_except_mlp", {query_proj, key_proj, value_proj, context, out_proj}, {}},
      {"save_dot_except_mlpwi", {query_proj, key_proj, value_proj, out_proj, mlpwo}, {}},
      {"save_dot_except_mlp", {query_proj, key_proj, value_proj, out_proj}, {}},
      {"save_qkv_proj", {query_proj, key_proj, value_proj}, {}},
      {"save_out_proj", {out_proj}, {}},
      {"qkv_proj_offloaded", {}, {query_proj, key_proj, value_proj}},
      {"minimal_offloaded", {}, {query_proj, key_proj, value_proj, out_proj, mlpwi_0, mlpwi_1, mlpwo}},
  };
  return kTable;
}

// Values of experts, each with the value of a dense block whose place it takes by default.
constexpr std::array kNamesakes{std::pair{moe_mlpwi_0, mlpwi_0}, std::pair{moe_mlpwi_1, mlpwi_1},
                                std::pair{moe_mlpwo, mlpwo}};

RematPlan plan_of(const Policy& policy) {
  RematPlan plan;
  for (const auto& [name, text] : EnumNames<Saved>::kNames) plan[name] = SavePlace::remat;
  plan[layer_input] = SavePlace::device;
  for (const auto name : policy.kept) plan[name] = SavePlace::device;
  for (const auto name : policy.offloaded) plan[name] = SavePlace::offload;
  for (const auto& [of_experts, dense] : kNamesakes) plan[of_experts] = plan[dense];
  return plan;
}

RematPlan custom_plan(const std::map<std::string, SavePlace>& places) {
  RematPlan plan = plan_of({"", {}, {}});
  std::vector<std::string> names;
  for (const auto& [name, text] : EnumNames<Saved>::kNames) names.emplace_back(text);
  for (const auto& [text, place] : places) {
    const auto name = enum_value<Saved>(text);
    if (!name)
      throw SpecError("/remat_custom/" + text,
                      "there is no intermediate named '" + text + "'" + suggestion(text, names));
    if (*name == layer_input && place == SavePlace::remat) {
      throw SpecError("/remat_custom/" + text, "layer_input must be kept: there is nothing to compute it from");
    }
    plan[*name] = place;
  }
  for (const auto& [of_experts, dense] : kNamesakes) {
    if (!places.contains(std::string(enum_name(of_experts)))) plan[of_experts] = plan[dense];
  }
  return plan;
}

}  // namespace

std::vector<std::string> remat_policy_names() {
  std::vector<std::string> names;
  for (const auto& policy : policies()) names.emplace_back(policy.name);
  names.emplace_back(kCustomRemat);
  return names;
}

RematPlan resolve_remat(const RunSpec& run) {
  if (run.remat == kCustomRemat) return custom_plan(run.remat_custom);
  for (const auto& policy : policies()) {
    if (policy.name == run.remat) return plan_of(policy);
  }
  throw SpecError("/remat", "there is no rematerialisation policy named '" + run.remat + "'" +
                                suggestion(run.remat, remat_policy_names()));
}

}  // namespace perfbench::spec
