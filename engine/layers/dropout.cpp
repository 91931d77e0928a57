#include "engine/layers/dropout.h"

#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

bool drops(const LayerShared& shared, double rate) {
  return rate > 0 && shared.dropout.step.defined();
}

void drop(const LayerShared& shared, double rate, const std::string& place, TensorView out_RM, TensorView x_RM) {
  const auto& tp = shared.tensor_parallel;
  const std::string stream = "dropout of " + place;
  shared.context.ops.dropout({.out_RM = out_RM,
                              .x_RM = x_RM,
                              .step = shared.dropout.step,
                              .seed = static_cast<std::uint64_t>(shared.run.seed),
                              .stream = stream,
                              .first_row = shared.dropout.first_token + tp.index() * tp.rows(),
                              .rate = rate});
}

}  // namespace

void drop_input(const LayerShared& shared, TensorView x_RM) {
  const double rate = shared.run.dropout.input;
  if (drops(shared, rate)) drop(shared, rate, "input", x_RM, x_RM);
}

void drop_layer_input(const LayerShared& shared, const std::string& layer, TensorView x_RM) {
  const double rate = shared.run.dropout.layer_input;
  if (drops(shared, rate)) drop(shared, rate, layer + ".input", x_RM, x_RM);
}

void drop_addition(const LayerShared& shared, const std::string& block, TensorView x_RM) {
  const double rate = shared.run.dropout.residual;
  if (drops(shared, rate)) drop(shared, rate, block, x_RM, x_RM);
}

TensorView drop_addition_backward(const LayerShared& shared, const std::string& block, TensorView dy_RM,
                                  Tensor& buffer) {
  const double rate = shared.run.dropout.residual;
  if (!drops(shared, rate)) return dy_RM;
  buffer = shared.context.workspace(block + ".ddropout", dy_RM.shape);
  drop(shared, rate, block, buffer, dy_RM);
  return buffer;
}

}  // namespace perfbench::engine
