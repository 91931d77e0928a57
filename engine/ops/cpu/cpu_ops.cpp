#include "engine/ops/cpu/cpu_ops.h"

#include "engine/core/error.h"
#include "engine/ops/cpu/matmul_provider.h"

namespace perfbench::engine {

std::unique_ptr<Ops> make_cpu_ops() {
  return std::make_unique<cpu::CpuOps>();
}

std::map<std::string, std::string> cpu_library_versions() {
  std::map<std::string, std::string> versions;
  for (const auto& provider : cpu::matmul_providers()) versions.emplace(provider.name, provider.version());
  versions.emplace("matmul", cpu::matmul_provider().name);
  return versions;
}

namespace cpu {

bool CpuOps::emulates(spec::Precision precision) const {
  // Products of bf16 operands are computed in f32 after conversion.
  return precision != spec::Precision::fp32;
}

float* CpuOps::workspace(std::int64_t floats, std::string_view op) {
  if (!workspace_.defined()) return unplanned_.at_least(floats, std::string(op));
  const std::int64_t bytes = floats * size_bytes(DType::f32);
  if (workspace_.bytes() < bytes) {
    throw LogicFault(std::string(op) + ": needs " + std::to_string(bytes) + " bytes of workspace, has " +
                     std::to_string(workspace_.bytes()));
  }
  return workspace_.as<float>();
}

}  // namespace cpu
}  // namespace perfbench::engine
