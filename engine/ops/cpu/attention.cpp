#include "engine/ops/cpu/attention.h"

#include "engine/ops/cpu/cpu_ops.h"

namespace perfbench::engine {

void CpuOps::do_attention_forward(const AttentionForwardArgs& args) {
  const bool flash = args.kind == spec::AttentionKind::flash;
  flash ? cpu::flash_forward(args) : cpu::dot_product_forward(args);
}

void CpuOps::do_attention_backward(const AttentionBackwardArgs& args) {
  const bool flash = args.kind == spec::AttentionKind::flash;
  flash ? cpu::flash_backward(args) : cpu::dot_product_backward(args);
}

}  // namespace perfbench::engine
