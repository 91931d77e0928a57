#include "engine/ops/cpu/cpu_ops.h"

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

}  // namespace cpu
}  // namespace perfbench::engine
