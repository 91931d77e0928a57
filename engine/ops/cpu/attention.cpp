#include "engine/ops/cpu/attention.h"

#include "engine/ops/cpu/cpu_ops.h"

namespace perfbench::engine::cpu {

void CpuOps::do_attention_forward(const AttentionForwardArgs& args) {
  if (args.kind == spec::AttentionKind::flash) {
    flash_forward(args, scratch_);
  } else {
    dot_product_forward(args, scratch_);
  }
}

void CpuOps::do_attention_backward(const AttentionBackwardArgs& args) {
  if (args.kind == spec::AttentionKind::flash) {
    flash_backward(args, scratch_);
  } else {
    dot_product_backward(args, scratch_);
  }
}

}  // namespace perfbench::engine::cpu
