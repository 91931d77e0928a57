// The public operations that round to 8 bits: they check and count costs, then call the backend.
#include "engine/core/float8.h"
#include "engine/ops/operand_checks.h"
#include "engine/ops/ops.h"

namespace perfbench::engine {

void Ops::quantize(const QuantizeArgs& args) {
  const auto& [amax, scale, inverse] = args.state;
  require(!args.tensors.empty() && is_scalar_f32(amax) && is_scalar_f32(scale) && is_scalar_f32(inverse), "quantize",
          "one tensor or more, and f32 [1] of their state", {amax, scale, inverse});
  const bool delayed = args.scaling == spec::Fp8Scaling::delayed;
  OperationCost cost{.read_bytes = delayed ? bytes_of(amax, scale) : 0,
                     .written_bytes = delayed ? bytes_of(amax) : bytes_of(amax, scale, inverse)};
  for (const auto& [out, in] : args.tensors) {
    require(out.shape == in.shape && evenly_apart(out) && evenly_apart(in) && is_float(in.dtype) &&
                is_float8(out.dtype) && out.dtype == args.tensors.front().out.dtype,
            "quantize", "rows at one distance of f32 or bf16, as many of one 8-bit type", {out, in});
    cost.read_bytes += bytes_of(in);
    cost.written_bytes += bytes_of(out);
  }
  const OpSpan span = begin(spec::TraceOp::quantize, cost);
  do_quantize(args);
}

void Ops::update_scales(const UpdateScalesArgs& args) {
  const auto& history = args.history_HS;
  const auto is_state = [&](const TensorView& t) {
    return t.dtype == DType::f32 && t.shape == Shape{columns(history)};
  };
  require(history.shape.rank() == 2 && history.dtype == DType::f32 && is_state(args.amax_S) && is_state(args.scale_S) &&
              args.inverse_scale_S1.dtype == DType::f32 && args.inverse_scale_S1.shape == Shape{columns(history), 1} &&
              is_float8(args.format),
          "update_scales",
          "amax and scales are f32 [S], the inverses [S, 1], the history f32 [H, S], the format has 8 bits",
          {args.amax_S, history, args.scale_S, args.inverse_scale_S1});
  const OpSpan span = begin(spec::TraceOp::update_scales,
                            {.read_bytes = bytes_of(args.amax_S, history),
                             .written_bytes = bytes_of(args.amax_S, history, args.scale_S, args.inverse_scale_S1)});
  do_update_scales(args);
}

}  // namespace perfbench::engine
