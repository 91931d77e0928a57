// The public operations on elements, whatever they mean: the update of weights, copies, sums and the way to the host.
// They check and count, then call the backend.
#include "engine/core/stochastic_rounding.h"
#include "engine/ops/operand_checks.h"
#include "engine/ops/ops.h"

namespace perfbench::engine {

void Ops::adamw(const AdamwArgs& args) {
  const DType moments = args.tensors.empty() ? DType::f32 : args.tensors.front().first_moment.dtype;
  OperationCost cost{.form = {.dtype = moments}, .read_bytes = bytes_of(args.factors, args.step)};
  const DType gradients = args.tensors.empty() ? DType::f32 : args.tensors.front().gradient.dtype;
  require(gradients == DType::f32 || gradients == DType::bf16, "adamw", "gradients are f32 or bf16", {});
  require(
      moments == DType::f32 || (moments == DType::bf16 && args.step.dtype == DType::i32 && args.step.elements() == 1),
      "adamw", "moments are f32, or bf16 with the step i32 [1]", {args.step});
  for (const auto& t : args.tensors) {
    const bool alike = t.gradient.shape == t.weight.shape && t.gradient.dtype == gradients &&
                       t.first_moment.shape == t.weight.shape && t.first_moment.dtype == moments &&
                       same(t.second_moment, t.first_moment) && t.weight.dtype == DType::f32;
    require(alike, "adamw", "weights are f32, gradients of one type and moments of one, all of one shape",
            {t.weight, t.gradient, t.first_moment, t.second_moment});
    require(!t.bf16_weight.defined() || (t.bf16_weight.shape == t.weight.shape && t.bf16_weight.dtype == DType::bf16),
            "adamw", "the rounded weight is bf16 of the weight's shape", {t.weight, t.bf16_weight});
    cost.form.dims.front() += t.weight.elements();
    cost.read_bytes += bytes_of(t.weight, t.gradient, t.first_moment, t.second_moment);
    cost.written_bytes += bytes_of(t.weight, t.first_moment, t.second_moment, t.bf16_weight);
  }
  require(args.factors.dtype == DType::f64 && args.factors.shape == Shape{kAdamwFactors}, "adamw",
          "factors are f64 [4]", {args.factors});
  const OpSpan span = begin(spec::TraceOp::adamw, cost);
  do_adamw(args);
}

void Ops::clip_scale(TensorView scale, TensorView square_sum, double clip_norm) {
  require(is_scalar_f64(scale) && is_scalar_f64(square_sum), "clip_scale", "both are f64 [1]", {scale, square_sum});
  const OpSpan span =
      begin(spec::TraceOp::clip_scale, {.read_bytes = bytes_of(square_sum), .written_bytes = bytes_of(scale)});
  do_clip_scale(scale, square_sum, clip_norm);
}

void Ops::add(TensorView out, TensorView a, TensorView b) {
  require(same(out, a) && out.shape == b.shape && (b.dtype == out.dtype || b.dtype == DType::f32), "add",
          "one shape and type, or an f32 b", {out, a, b});
  const OpSpan span =
      begin(spec::TraceOp::add,
            {.form = {b.dtype, {}, {b.elements()}}, .read_bytes = bytes_of(a, b), .written_bytes = bytes_of(out)});
  do_add(out, a, b);
}

void Ops::dropout(const DropoutArgs& args) {
  require(same(args.out_RM, args.x_RM) && args.x_RM.shape.rank() == 2 && is_float(args.x_RM.dtype) &&
              args.step.dtype == DType::i32 && args.step.elements() == 1 && args.first_row >= 0 && args.rate >= 0 &&
              args.rate < 1,
          "dropout", "rows of one shape and type, the step i32 [1], the rate in [0, 1)",
          {args.out_RM, args.x_RM, args.step});
  const OpSpan span = begin(spec::TraceOp::dropout, {.form = {args.x_RM.dtype, {}, {args.x_RM.elements()}},
                                                     .read_bytes = bytes_of(args.x_RM, args.step),
                                                     .written_bytes = bytes_of(args.out_RM)});
  do_dropout(args);
}

void Ops::sum_parts(TensorView out, TensorView parts) {
  require(out.dtype == parts.dtype && is_float(out.dtype) && out.elements() > 0 &&
              parts.elements() % out.elements() == 0 && parts.elements() > 0,
          "sum_parts", "parts of the size and type of their sum", {out, parts});
  const OpSpan span =
      begin(spec::TraceOp::sum_parts, {.form = {parts.dtype, {}, {out.elements(), parts.elements() / out.elements()}},
                                       .read_bytes = bytes_of(parts),
                                       .written_bytes = bytes_of(out)});
  do_sum_parts(out, parts);
}

void Ops::copy(TensorView out, TensorView in) {
  require(out.elements() == in.elements(), "copy", "as many elements", {out, in});
  const OpSpan span =
      begin(out.dtype != in.dtype ? spec::TraceOp::cast : spec::TraceOp::copy,
            {.form = {in.dtype, {}, {in.elements()}}, .read_bytes = bytes_of(in), .written_bytes = bytes_of(out)});
  do_copy(out, in);
}

void Ops::cast_stochastic(const StochasticCastArgs& args) {
  require(args.out.dtype == DType::bf16 && args.in.dtype == DType::f32 && args.out.elements() == args.in.elements() &&
              args.step.dtype == DType::i32 && args.step.elements() == 1 && args.first_index % kDrawsPerWord == 0,
          "cast_stochastic", "f32 to as many bf16, the step i32 [1], from the first draw of a word on",
          {args.out, args.in, args.step});
  const OpSpan span =
      begin(spec::TraceOp::cast, {.read_bytes = bytes_of(args.in, args.step), .written_bytes = bytes_of(args.out)});
  do_cast_stochastic(args);
}

Pending Ops::transfer(TensorView out, TensorView in) {
  require(same(out, in), "transfer", "one shape and type", {out, in});
  const OpSpan span =
      begin(spec::TraceOp::copy,
            {.form = {in.dtype, {}, {in.elements()}}, .read_bytes = bytes_of(in), .written_bytes = bytes_of(out)});
  return Pending(do_transfer(out, in));
}

void Ops::fill(TensorView out, double value) {
  const OpSpan span =
      begin(spec::TraceOp::fill, {.form = {out.dtype, {}, {out.elements()}}, .written_bytes = bytes_of(out)});
  do_fill(out, value);
}

void Ops::fill_normal(const NormalArgs& args) {
  require(args.out.dtype == DType::f32 && args.skip >= 0 && args.run > 0, "fill_normal", "out is f32, of runs of draws",
          {args.out});
  const OpSpan span = begin(spec::TraceOp::fill_normal, {.written_bytes = bytes_of(args.out)});
  do_fill_normal(args);
}

void Ops::sum(TensorView out_f64, TensorView x, Write write) {
  require(is_scalar_f64(out_f64), "sum", "out is f64 [1]", {out_f64, x});
  const OpSpan span = begin(
      spec::TraceOp::sum, {.read_bytes = bytes_of(x) + held_bytes(out_f64, write), .written_bytes = bytes_of(out_f64)});
  do_sum(out_f64, x, write);
}

void Ops::sum_of_squares(TensorView out_f64, std::span<const TensorView> tensors, Write write) {
  require(is_scalar_f64(out_f64) && !tensors.empty(), "sum_of_squares", "out is f64 [1], of one tensor or more",
          {out_f64});
  OperationCost cost{
      .form = {tensors.front().dtype}, .read_bytes = held_bytes(out_f64, write), .written_bytes = bytes_of(out_f64)};
  for (const auto& x : tensors) {
    require(is_float(x.dtype) && x.dtype == tensors.front().dtype, "sum_of_squares", "tensors of one type",
            {x, tensors.front()});
    cost.form.dims.front() += x.elements();
    cost.read_bytes += bytes_of(x);
  }
  const OpSpan span = begin(spec::TraceOp::sum_of_squares, cost);
  do_sum_of_squares(out_f64, tensors, write);
}

void Ops::read_f64(std::span<double> to, TensorView values) {
  require(values.dtype == DType::f64 && values.elements() == static_cast<std::int64_t>(to.size()) && !to.empty(),
          "read_f64", "f64, as many as are asked for", {values});
  const std::int64_t bytes = bytes_of(values);
  const OpSpan span = begin(spec::TraceOp::read_f64, {.read_bytes = bytes, .written_bytes = bytes});
  do_read_f64(to, values);
}

double Ops::read_f64(TensorView scalar) {
  double value = 0;
  read_f64({&value, 1}, scalar);
  return value;
}

void Ops::upload(TensorView out, const void* from) {
  const std::int64_t bytes = bytes_of(out);
  const OpSpan span = begin(spec::TraceOp::upload, {.read_bytes = bytes, .written_bytes = bytes});
  do_upload(out, from);
}

}  // namespace perfbench::engine
