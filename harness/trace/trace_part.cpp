#include "harness/trace/trace_part.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace perfbench::harness {

TracePart part_of(spec::TraceOp op) {
  using spec::TraceOp;
  switch (op) {
    case TraceOp::matmul:
    case TraceOp::expert_product:
      return TracePart::gemm;
    case TraceOp::attention_forward:
    case TraceOp::attention_backward:
      return TracePart::attention;
    case TraceOp::norm_forward:
    case TraceOp::norm_apply:
    case TraceOp::norm_backward:
      return TracePart::norm;
    case TraceOp::adamw:
    case TraceOp::clip_scale:
      return TracePart::optimizer;
    case TraceOp::copy:
    case TraceOp::fill:
    case TraceOp::upload:
    case TraceOp::read_f64:
      return TracePart::copy;
    case TraceOp::bias_backward:
    case TraceOp::rope:
    case TraceOp::relative_bias_forward:
    case TraceOp::relative_bias_backward:
    case TraceOp::activation_forward:
    case TraceOp::activation_backward:
    case TraceOp::embedding_forward:
    case TraceOp::embedding_backward:
    case TraceOp::one_hot:
    case TraceOp::cross_entropy:
    case TraceOp::cross_entropy_part:
    case TraceOp::cross_entropy_whole:
    case TraceOp::score:
    case TraceOp::route_forward:
    case TraceOp::route_backward:
    case TraceOp::dispatch:
    case TraceOp::combine:
    case TraceOp::gates_backward:
    case TraceOp::add:
    case TraceOp::dropout:
    case TraceOp::sum_parts:
    case TraceOp::cast:
    case TraceOp::quantize:
    case TraceOp::update_scales:
    case TraceOp::fill_normal:
    case TraceOp::sum:
    case TraceOp::sum_of_squares:
      return TracePart::elementwise;
  }
  return TracePart::other;
}

std::optional<TracePart> part_of_span(spec::TraceKind kind, std::string_view name) {
  if (kind == spec::TraceKind::collective || kind == spec::TraceKind::submit) return TracePart::collective;
  if (const auto op = spec::enum_value<spec::TraceOp>(name)) return part_of(*op);
  return std::nullopt;
}

TracePart part_of_kernel(std::string_view demangled_name) {
  std::string name(demangled_name);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  struct Rule {
    std::string_view piece;
    TracePart part;
  };
  // The first rule that matches applies. Attention kernels are built of gemm pieces and norms of elementwise ones, and
  // their names say so. nccl*, fmha* and flash* belong to NCCL, cuDNN and FlashAttention; nvjet and xmma to cuBLAS.
  static constexpr std::array kRules{Rule{"nccl", TracePart::collective},
                                     Rule{"fmha", TracePart::attention},
                                     Rule{"flash", TracePart::attention},
                                     Rule{"sdpa", TracePart::attention},
                                     Rule{"attention", TracePart::attention},
                                     Rule{"softmax", TracePart::attention},
                                     Rule{"gemm", TracePart::gemm},
                                     Rule{"xmma", TracePart::gemm},
                                     Rule{"nvjet", TracePart::gemm},
                                     Rule{"cutlass", TracePart::gemm},
                                     Rule{"splitk", TracePart::gemm},
                                     Rule{"matmul", TracePart::gemm},
                                     Rule{"adam", TracePart::optimizer},
                                     Rule{"optimizer", TracePart::optimizer},
                                     Rule{"norm", TracePart::norm},
                                     Rule{"memcpy", TracePart::copy},
                                     Rule{"memset", TracePart::copy},
                                     Rule{"elementwise", TracePart::elementwise},
                                     Rule{"rope", TracePart::elementwise},
                                     Rule{"relative_bias", TracePart::elementwise},
                                     Rule{"rotary", TracePart::elementwise},
                                     Rule{"gelu", TracePart::elementwise},
                                     Rule{"silu", TracePart::elementwise},
                                     Rule{"swiglu", TracePart::elementwise},
                                     Rule{"activation", TracePart::elementwise},
                                     Rule{"embedding", TracePart::elementwise},
                                     Rule{"one_hot", TracePart::elementwise},
                                     Rule{"cross_entropy", TracePart::elementwise},
                                     Rule{"score", TracePart::elementwise},
                                     Rule{"reduce", TracePart::elementwise},
                                     Rule{"cast", TracePart::elementwise},
                                     Rule{"add", TracePart::elementwise},
                                     Rule{"dropout", TracePart::elementwise},
                                     Rule{"copy", TracePart::copy},
                                     Rule{"fill", TracePart::copy}};
  for (const auto& rule : kRules) {
    if (name.find(rule.piece) != std::string::npos) return rule.part;
  }
  return TracePart::other;
}

}  // namespace perfbench::harness
