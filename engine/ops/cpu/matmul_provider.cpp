#include "engine/ops/cpu/matmul_provider.h"

#include <string_view>
#include <vector>

#include "engine/core/error.h"

namespace perfbench::engine::cpu {
namespace {

constexpr std::string_view kChoice = PERFBENCH_BLAS;  // AUTO, ONEDNN, OPENBLAS or OWN; checked by CMake

std::string_view chosen_name() {
  if (kChoice == "ONEDNN") return "onednn";
  if (kChoice == "OPENBLAS") return "openblas";
  if (kChoice == "OWN") return "own";
  return matmul_providers().front().name;
}

}  // namespace

std::span<const MatmulProvider> matmul_providers() {
  static const std::vector<MatmulProvider> built = [] {
    std::vector<MatmulProvider> providers;
    for (const auto* provider : {onednn_provider(), openblas_provider(), &own_provider()}) {
      if (provider != nullptr) providers.push_back(*provider);
    }
    return providers;
  }();
  return built;
}

const MatmulProvider& matmul_provider() {
  static const MatmulProvider& chosen = []() -> const MatmulProvider& {
    for (const auto& provider : matmul_providers()) {
      if (provider.name == chosen_name()) return provider;
    }
    throw LogicFault("matrix products: no provider named " + std::string(chosen_name()));
  }();
  return chosen;
}

}  // namespace perfbench::engine::cpu
