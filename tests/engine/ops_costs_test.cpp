// The cost that each operation reports, compared with numbers computed by hand from its operands.
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "engine/core/error.h"
#include "engine/ops/ops.h"

namespace perfbench::engine {
namespace {

using spec::TraceOp;

TensorView f32(Shape shape) {
  return {.dtype = DType::f32, .shape = shape};
}
TensorView bf16(Shape shape) {
  return {.dtype = DType::bf16, .shape = shape};
}
TensorView f64(Shape shape) {
  return {.dtype = DType::f64, .shape = shape};
}
TensorView i32(Shape shape) {
  return {.dtype = DType::i32, .shape = shape};
}

struct Cost {
  std::int64_t flops = 0;
  std::int64_t bytes = 0;
};

// One call.
void expect_cost(TraceOp op, const Cost& cost, const std::function<void(Ops&)>& call) {
  const auto ops = make_dry_ops();
  OperationTable table;
  ops->set_table(&table);
  call(*ops);
  SCOPED_TRACE(spec::enum_name(op));
  ASSERT_EQ(table.size(), 1U);
  const auto& work = table.begin()->second;
  EXPECT_EQ(work.operation, op);
  EXPECT_EQ(work.calls, 1);
  EXPECT_EQ(work.flops, cost.flops);
  EXPECT_EQ(work.bytes, cost.bytes);
}

// a: 6*8*2 = 96, b: 8*10*2 = 160; c: 6*10, 120 in bf16, 240 in f32. 2*6*10*8 = 960 FLOPs.
TEST(OperationCosts, Matmul) {
  const MatmulArgs plain{.a = bf16({6, 8}), .b = bf16({10, 8}), .c = f32({6, 10}), .transpose_b = Transpose::yes};
  expect_cost(TraceOp::matmul, {960, 96 + 160 + 240}, [&](Ops& ops) { ops.matmul(plain); });
  auto added = plain;
  added.write = Write::accumulate;
  expect_cost(TraceOp::matmul, {960, 96 + 160 + 2 * 240}, [&](Ops& ops) { ops.matmul(added); });
  const MatmulArgs gelu{.a = bf16({6, 8}),
                        .b = bf16({8, 10}),
                        .c = bf16({6, 10}),
                        .bias_n = bf16({10}),
                        .epilogue = Epilogue::gelu_tanh,
                        .preactivation = bf16({6, 10})};
  expect_cost(TraceOp::matmul, {960, 96 + 160 + 20 + 2 * 120}, [&](Ops& ops) { ops.matmul(gelu); });
  auto gradient = gelu;
  gradient.bias_n = {};
  gradient.epilogue = Epilogue::gelu_tanh_gradient;
  expect_cost(TraceOp::matmul, {960, 96 + 160 + 2 * 120}, [&](Ops& ops) { ops.matmul(gradient); });
}

// x, y and their gradients: 6*8*2 = 96; statistics: 6*4 = 24 a row; weight and bias 16, their gradients 32.
TEST(OperationCosts, Norms) {
  NormForwardArgs rms{.y_NM = bf16({6, 8}), .statistics = f32({1, 6}), .x_NM = bf16({6, 8}), .weight_M = bf16({8})};
  expect_cost(TraceOp::norm_forward, {0, 96 + 16 + 96 + 24}, [&](Ops& ops) { ops.norm_forward(rms); });
  expect_cost(TraceOp::norm_apply, {0, 96 + 16 + 96 + 24}, [&](Ops& ops) { ops.norm_apply(rms); });
  auto layer = rms;
  layer.kind = spec::NormKind::layernorm;
  layer.statistics = f32({2, 6});
  layer.bias_M = bf16({8});
  layer.residual_NM = bf16({6, 8});
  expect_cost(TraceOp::norm_forward, {0, (96 + 96 + 16 + 16) + (96 + 96 + 48)},
              [&](Ops& ops) { ops.norm_forward(layer); });
  NormBackwardArgs backward{.dx_NM = bf16({6, 8}),
                            .dweight_M = f32({8}),
                            .dbias_M = f32({8}),
                            .dy_NM = bf16({6, 8}),
                            .x_NM = bf16({6, 8}),
                            .statistics = f32({2, 6}),
                            .weight_M = bf16({8}),
                            .kind = spec::NormKind::layernorm,
                            .write_dx = Write::accumulate};
  expect_cost(TraceOp::norm_backward, {0, 96 + 96 + 48 + 16 + 2 * (96 + 32 + 32)},
              [&](Ops& ops) { ops.norm_backward(backward); });
  backward.write_dx = Write::overwrite;
  backward.write_parameters = Write::overwrite;
  expect_cost(TraceOp::norm_backward, {0, 96 + 96 + 48 + 16 + (96 + 32 + 32)},
              [&](Ops& ops) { ops.norm_backward(backward); });
  backward.dweight_M = {};
  EXPECT_THROW(make_dry_ops()->norm_backward(backward), LogicFault);  // a gradient of the bias alone
  backward.dbias_M = {};
  expect_cost(TraceOp::norm_backward, {0, 96 + 96 + 48 + 16 + 96}, [&](Ops& ops) { ops.norm_backward(backward); });
}

// B 2, T 4, H 4, K 2, D 8: query and context 8*32*2 = 512, key and value 8*16*2 = 256, logsumexp 2*4*4*4 = 128,
// probabilities in f32 2*4*4*4*4 = 512. Half of 2*4*4*4 pairs is 64: 64*2*8 = 1024 FLOPs a product.
TEST(OperationCosts, Attention) {
  const AttentionDims dims{.batch = 2, .seq_len = 4, .n_heads = 4, .n_kv_heads = 2, .head_dim = 8};
  const TensorView wide = bf16({8, 32});
  const TensorView narrow = bf16({8, 16});
  const TensorView weights = f32({2, 4, 4, 4});
  AttentionForwardArgs forward{
      .context = wide, .logsumexp_BHT = f32({2, 4, 4}), .query = wide, .key = narrow, .value = narrow, .dims = dims};
  expect_cost(TraceOp::attention_forward, {2 * 1024, 512 + 2 * 256 + 512 + 128},
              [&](Ops& ops) { ops.attention_forward(forward); });
  forward.kind = spec::AttentionKind::dot_product;
  forward.weights_BHTT = weights;
  expect_cost(TraceOp::attention_forward, {2 * 1024, 512 + 2 * 256 + 512 + 128 + 512},
              [&](Ops& ops) { ops.attention_forward(forward); });
  AttentionBackwardArgs backward{.dquery = wide,
                                 .dkey = narrow,
                                 .dvalue = narrow,
                                 .dcontext = wide,
                                 .query = wide,
                                 .key = narrow,
                                 .value = narrow,
                                 .context = wide,
                                 .logsumexp_BHT = f32({2, 4, 4}),
                                 .dims = dims};
  expect_cost(TraceOp::attention_backward, {4 * 1024, (3 * 512 + 2 * 256 + 128) + (512 + 2 * 256)},
              [&](Ops& ops) { ops.attention_backward(backward); });
  backward.kind = spec::AttentionKind::dot_product;
  backward.weights_BHTT = weights;
  backward.dweights_BHTT = weights;
  expect_cost(TraceOp::attention_backward, {4 * 1024, (3 * 512 + 2 * 256 + 128) + (512 + 2 * 256) + 512 + 2 * 512},
              [&](Ops& ops) { ops.attention_backward(backward); });
}

// As above, with a bias of 4 heads and 4 distances, 64 bytes, and its gradient for 2 sequences, 128.
TEST(OperationCosts, AttentionWithABias) {
  const AttentionDims dims{.batch = 2, .seq_len = 4, .n_heads = 4, .n_kv_heads = 2, .head_dim = 8};
  const TensorView wide = bf16({8, 32});
  const TensorView narrow = bf16({8, 16});
  const TensorView weights = f32({2, 4, 4, 4});
  expect_cost(TraceOp::attention_forward, {2 * 1024, 512 + 2 * 256 + 64 + 512 + 128}, [&](Ops& ops) {
    ops.attention_forward({.context = wide,
                           .logsumexp_BHT = f32({2, 4, 4}),
                           .query = wide,
                           .key = narrow,
                           .value = narrow,
                           .bias_HT = f32({4, 4}),
                           .dims = dims});
  });
  AttentionBackwardArgs backward{.dquery = wide,
                                 .dkey = narrow,
                                 .dvalue = narrow,
                                 .dbias_BHT = f32({2, 4, 4}),
                                 .dcontext = wide,
                                 .query = wide,
                                 .key = narrow,
                                 .value = narrow,
                                 .context = wide,
                                 .logsumexp_BHT = f32({2, 4, 4}),
                                 .bias_HT = f32({4, 4}),
                                 .dims = dims};
  expect_cost(TraceOp::attention_backward, {4 * 1024, (3 * 512 + 2 * 256 + 128 + 64) + (512 + 2 * 256 + 128)},
              [&](Ops& ops) { ops.attention_backward(backward); });
  backward.bias_HT = {};
  backward.kind = spec::AttentionKind::dot_product;
  backward.weights_BHTT = weights;
  backward.dweights_BHTT = weights;
  expect_cost(TraceOp::attention_backward,
              {4 * 1024, (3 * 512 + 2 * 256 + 128) + (512 + 2 * 256 + 128) + 512 + 2 * 512},
              [&](Ops& ops) { ops.attention_backward(backward); });
  expect_cost(TraceOp::relative_bias_forward, {0, 2 * 32 * 4 + 16 + 64}, [](Ops& ops) {
    ops.relative_bias_forward({.bias_HT = f32({4, 4}), .table_UH = bf16({32, 4}), .buckets_T = i32({4})});
  });
  const auto of_table = [](Write write) {
    return [write](Ops& ops) {
      ops.relative_bias_backward(
          {.dtable_UH = f32({32, 4}), .dbias_BHT = f32({2, 4, 4}), .buckets_T = i32({4}), .write = write});
    };
  };
  expect_cost(TraceOp::relative_bias_backward, {0, 128 + 16 + 512}, of_table(Write::overwrite));
  expect_cost(TraceOp::relative_bias_backward, {0, 128 + 16 + 2 * 512}, of_table(Write::accumulate));
}

// Eight tokens with the begins of their documents, 32 bytes; FLOPs are those of the whole causal square.
TEST(OperationCosts, DocumentsInARow) {
  const AttentionDims dims{.batch = 2, .seq_len = 4, .n_heads = 4, .n_kv_heads = 2, .head_dim = 8};
  const TensorView wide = bf16({8, 32});
  const TensorView narrow = bf16({8, 16});
  expect_cost(TraceOp::attention_forward, {2 * 1024, 512 + 2 * 256 + 32 + 512 + 128}, [&](Ops& ops) {
    ops.attention_forward({.context = wide,
                           .logsumexp_BHT = f32({2, 4, 4}),
                           .query = wide,
                           .key = narrow,
                           .value = narrow,
                           .first_N = i32({8}),
                           .dims = dims});
  });
  expect_cost(TraceOp::attention_backward, {4 * 1024, (3 * 512 + 2 * 256 + 128 + 32) + (512 + 2 * 256)}, [&](Ops& ops) {
    ops.attention_backward({.dquery = wide,
                            .dkey = narrow,
                            .dvalue = narrow,
                            .dcontext = wide,
                            .query = wide,
                            .key = narrow,
                            .value = narrow,
                            .context = wide,
                            .logsumexp_BHT = f32({2, 4, 4}),
                            .first_N = i32({8}),
                            .dims = dims});
  });
  expect_cost(TraceOp::rope, {0, 192 + 48 + 24 + 192}, [](Ops& ops) {
    ops.rope({.x = bf16({6, 16}), .cos_sin_TD = f32({3, 4}), .first_N = i32({6}), .head_dim = 4});
  });
}

TEST(OperationCosts, RopeAndActivations) {
  expect_cost(TraceOp::rope, {0, 192 + 48 + 192}, [](Ops& ops) {
    ops.rope({.x = bf16({6, 16}), .cos_sin_TD = f32({3, 4}), .head_dim = 4});
  });
  const TensorView x = bf16({6, 10});  // 120 bytes
  expect_cost(TraceOp::activation_forward, {0, 3 * 120},
              [&](Ops& ops) { ops.activation_forward({.product_NF = x, .gate_NF = x, .up_NF = x}); });
  expect_cost(TraceOp::activation_backward, {0, 5 * 120},
              [&](Ops& ops) { ops.activation_backward({.gate_NF = x, .up_NF = x, .dproduct_NF = x}); });
  const auto relu = spec::Activation::relu;
  expect_cost(TraceOp::activation_forward, {0, 2 * 120},
              [&](Ops& ops) { ops.activation_forward({.product_NF = x, .up_NF = x, .kind = relu}); });
  expect_cost(TraceOp::activation_backward, {0, 3 * 120},
              [&](Ops& ops) { ops.activation_backward({.up_NF = x, .dproduct_NF = x, .kind = relu}); });
}

// Six tokens look up six of a hundred rows, or all of four; three positions of five.
TEST(OperationCosts, Embeddings) {
  expect_cost(TraceOp::embedding_forward, {0, 24 + 6 * 16 + 96}, [](Ops& ops) {
    ops.embedding_forward({.x_NM = bf16({6, 8}), .tokens_N = i32({6}), .table_VM = bf16({100, 8}), .seq_len = 3});
  });
  expect_cost(TraceOp::embedding_forward, {0, 24 + 4 * 16 + 3 * 16 + 96}, [](Ops& ops) {
    ops.embedding_forward({.x_NM = bf16({6, 8}),
                           .tokens_N = i32({6}),
                           .table_VM = bf16({4, 8}),
                           .position_TM = bf16({5, 8}),
                           .seq_len = 3});
  });
  expect_cost(TraceOp::embedding_backward, {0, 96 + 24 + 2 * (4 * 32 + 3 * 32)}, [](Ops& ops) {
    ops.embedding_backward({.dtable_VM = f32({4, 8}),
                            .dposition_TM = f32({5, 8}),
                            .dx_NM = bf16({6, 8}),
                            .tokens_N = i32({6}),
                            .seq_len = 3});
  });
}

// Six tokens of four bytes; 6*10 ones and zeros of two bytes.
TEST(OperationCosts, OneHot) {
  expect_cost(TraceOp::one_hot, {0, 24 + 120}, [](Ops& ops) {
    ops.one_hot({.rows_NV = bf16({6, 10}), .tokens_N = i32({6})});
  });
}

// 6 tokens, 4 experts, 2 choices, 2 parts of 5 rows, sequences of 3: logits 6*4*4 = 96; gates, experts and rows 48
// each; choices of 10 rows 40, segments 32, balance and load of 2 sequences 8 each, dropped 16. Rows 10*8*2 = 160, x
// 6*8*2 = 96.
TEST(OperationCosts, ExpertRows) {
  const RoutingRule rule{.parts = 2, .part_rows = 5, .seq_len = 3};
  RouteForwardArgs route{.logits_NE = f32({6, 4}),
                         .gates_NC = f32({6, 2}),
                         .experts_NC = i32({6, 2}),
                         .rows_NC = i32({6, 2}),
                         .choices_Q = i32({10}),
                         .segments_E2 = i32({4, 2}),
                         .rule = rule};
  expect_cost(TraceOp::route_forward, {0, 96 + 3 * 48 + 40 + 32}, [&](Ops& ops) { ops.route_forward(route); });
  route.balance_B = f32({2});
  route.load_B = f32({2});
  route.dropped_E = f32({4});
  expect_cost(TraceOp::route_forward, {0, 96 + 3 * 48 + 40 + 32 + 8 + 8 + 16},
              [&](Ops& ops) { ops.route_forward(route); });
  expect_cost(TraceOp::route_backward, {0, 96 + 3 * 48 + 48}, [&](Ops& ops) {
    ops.route_backward({.dlogits_NE = bf16({6, 4}),
                        .dgates_NC = f32({6, 2}),
                        .logits_NE = f32({6, 4}),
                        .gates_NC = f32({6, 2}),
                        .experts_NC = i32({6, 2}),
                        .rule = rule});
  });
  DispatchArgs dispatch{.rows_QM = bf16({10, 8}), .x_NM = bf16({6, 8}), .choices_Q = i32({10}), .choices_per_token = 2};
  expect_cost(TraceOp::dispatch, {0, 96 + 40 + 160}, [&](Ops& ops) { ops.dispatch(dispatch); });
  dispatch.gates_NC = f32({6, 2});
  expect_cost(TraceOp::dispatch, {0, 96 + 40 + 48 + 160}, [&](Ops& ops) { ops.dispatch(dispatch); });
  CombineArgs combine{.x_NM = bf16({6, 8}), .rows_QM = bf16({10, 8}), .rows_NC = i32({6, 2})};
  expect_cost(TraceOp::combine, {0, 160 + 48 + 96}, [&](Ops& ops) { ops.combine(combine); });
  combine.gates_NC = f32({6, 2});
  combine.write = Write::accumulate;
  expect_cost(TraceOp::combine, {0, 160 + 48 + 48 + 2 * 96}, [&](Ops& ops) { ops.combine(combine); });
  expect_cost(TraceOp::gates_backward, {0, 96 + 160 + 48 + 48}, [](Ops& ops) {
    ops.gates_backward(
        {.dgates_NC = f32({6, 2}), .dx_NM = bf16({6, 8}), .rows_QM = bf16({10, 8}), .rows_NC = i32({6, 2})});
  });
}

// 2 experts of [12, 8]: weights 384 in bf16, gradients 768; rows [10, 8] 160 and [10, 12] 240; segments of 2 parts 32.
// 7 rows count: 2*7*12*8 = 1344 FLOPs.
TEST(OperationCosts, ExpertProducts) {
  using Kind = ExpertProductArgs::Kind;
  ExpertProductArgs forward{.kind = Kind::forward,
                            .a = bf16({10, 8}),
                            .b = bf16({2, 12, 8}),
                            .c = bf16({10, 12}),
                            .segments_PX2 = i32({2, 2, 2}),
                            .counted_rows = 7};
  expect_cost(TraceOp::expert_product, {1344, 160 + 384 + 32 + 240}, [&](Ops& ops) { ops.expert_product(forward); });
  ExpertProductArgs of_inputs = forward;
  of_inputs.kind = Kind::input_gradient;
  of_inputs.a = bf16({10, 12});
  of_inputs.c = bf16({10, 8});
  of_inputs.write = Write::accumulate;
  expect_cost(TraceOp::expert_product, {1344, 240 + 384 + 32 + 2 * 160},
              [&](Ops& ops) { ops.expert_product(of_inputs); });
  ExpertProductArgs of_weights = forward;
  of_weights.kind = Kind::weight_gradient;
  of_weights.a = bf16({10, 12});
  of_weights.b = bf16({10, 8});
  of_weights.c = f32({2, 12, 8});
  expect_cost(TraceOp::expert_product, {1344, 240 + 160 + 32 + 768}, [&](Ops& ops) { ops.expert_product(of_weights); });
}

TEST(OperationCosts, LossAndOptimizer) {
  expect_cost(TraceOp::sum_parts, {0, 3 * 24 + 24}, [](Ops& ops) { ops.sum_parts(bf16({12}), bf16({3, 12})); });
  expect_cost(TraceOp::cross_entropy_part, {0, 120 + 24 + 72}, [](Ops& ops) {
    ops.cross_entropy_part(
        {.statistics_3N = f32({3, 6}), .logits_NV = bf16({6, 10}), .targets_N = i32({6}), .range = {10, 30}});
  });
  expect_cost(TraceOp::cross_entropy_part, {0, 120 + 24 + 72 + 24}, [](Ops& ops) {
    ops.cross_entropy_part(
        {.statistics_3N = f32({3, 6}), .logits_NV = bf16({6, 10}), .targets_N = i32({6}), .others_N = f32({6})});
  });
  // Rows 1 to 6 belong to two sequences of four, each with three f64.
  expect_cost(TraceOp::score, {0, 192 + 24 + 48 + 48}, [](Ops& ops) {
    ops.score(
        {.scores_B3 = f64({3, 3}), .statistics_R4N = f32({2, 4, 6}), .targets_N = i32({6}), .first = 1, .seq_len = 4});
  });
  expect_cost(TraceOp::cross_entropy_whole, {0, 120 + 24 + 144 + 120 + 24}, [](Ops& ops) {
    ops.cross_entropy_whole({.losses_N = f32({6}),
                             .logits_NV = bf16({6, 10}),
                             .statistics_R3N = f32({2, 3, 6}),
                             .targets_N = i32({6}),
                             .range = {10, 30}});
  });
  expect_cost(TraceOp::cross_entropy, {0, 120 + 24 + 120 + 24}, [](Ops& ops) {
    ops.cross_entropy({.losses_N = f32({6}), .logits_NV = bf16({6, 10}), .targets_N = i32({6})});
  });
  expect_cost(TraceOp::cross_entropy, {0, 120 + 24 + 8 + 120 + 24}, [](Ops& ops) {
    ops.cross_entropy(
        {.losses_N = f32({6}), .logits_NV = bf16({6, 10}), .targets_N = i32({6}), .counted_targets = f64({1})});
  });
  const auto state = [](std::int64_t elements) {
    const TensorView of = f32({elements});
    return AdamwTensor{.weight = of, .gradient = of, .first_moment = of, .second_moment = of};
  };
  const std::array tensors{state(5), state(7)};
  expect_cost(TraceOp::adamw, {0, 28 * (5 + 7) + 32},
              [&](Ops& ops) { ops.adamw({.tensors = tensors, .factors = f64({4})}); });
  auto rounded = tensors;
  rounded[1].bf16_weight = bf16({7});
  expect_cost(TraceOp::adamw, {0, 28 * (5 + 7) + 2 * 7 + 32},
              [&](Ops& ops) { ops.adamw({.tensors = rounded, .factors = f64({4})}); });
  auto in_bf16 = tensors;
  for (auto& tensor : in_bf16) tensor.first_moment = tensor.second_moment = bf16({tensor.weight.elements()});
  expect_cost(TraceOp::adamw, {0, 20 * (5 + 7) + 32 + 4},
              [&](Ops& ops) { ops.adamw({.tensors = in_bf16, .factors = f64({4}), .step = i32({1})}); });
  expect_cost(TraceOp::clip_scale, {0, 8 + 8}, [](Ops& ops) { ops.clip_scale(f64({1}), f64({1}), 1.0); });
}

// The bf16 values once, their codes once, and the parts of the state that are read and written.
TEST(OperationCosts, RoundingTo8Bits) {
  const TensorView codes{nullptr, DType::e4m3, Shape{6, 10}};
  const QuantizeArgs::Rounded tensors[] = {{codes, bf16({6, 10})}, {codes, f32({6, 10})}};
  const QuantizationState state{.amax = f32({1}), .scale = f32({1}), .inverse_scale = f32({1})};
  expect_cost(TraceOp::quantize, {0, 120 + 240 + 2 * 60 + 2 * 4 + 4},
              [&](Ops& ops) { ops.quantize({.tensors = tensors, .state = state}); });
  expect_cost(TraceOp::quantize, {0, 120 + 240 + 2 * 60 + 3 * 4}, [&](Ops& ops) {
    ops.quantize({.tensors = tensors, .state = state, .scaling = spec::Fp8Scaling::current});
  });
  expect_cost(TraceOp::update_scales, {0, (20 + 80) + (20 + 80 + 20 + 20)}, [](Ops& ops) {
    ops.update_scales(
        {.amax_S = f32({5}), .history_HS = f32({4, 5}), .scale_S = f32({5}), .inverse_scale_S1 = f32({5, 1})});
  });
  expect_cost(TraceOp::matmul, {2 * 6 * 4 * 10, 60 + 40 + 2 * 4 + 48}, [&](Ops& ops) {
    ops.matmul({.a = codes,
                .b = TensorView{nullptr, DType::e5m2, Shape{10, 4}},
                .c = bf16({6, 4}),
                .inverse_scale_a = f32({1}),
                .inverse_scale_b = f32({1})});
  });
}

TEST(OperationCosts, Sums) {
  expect_cost(TraceOp::bias_backward, {0, 120 + 40}, [](Ops& ops) {
    ops.bias_backward(f32({10}), bf16({6, 10}), Write::overwrite);
  });
  expect_cost(TraceOp::bias_backward, {0, 120 + 2 * 40}, [](Ops& ops) {
    ops.bias_backward(f32({10}), bf16({6, 10}), Write::accumulate);
  });
  expect_cost(TraceOp::sum, {0, 192 + 8}, [](Ops& ops) { ops.sum(f64({1}), f32({48}), Write::overwrite); });
  expect_cost(TraceOp::sum, {0, 192 + 2 * 8}, [](Ops& ops) { ops.sum(f64({1}), f32({48}), Write::accumulate); });
  const std::array tensors{f32({48}), f32({10})};
  expect_cost(TraceOp::sum_of_squares, {0, 192 + 40 + 2 * 8},
              [&](Ops& ops) { ops.sum_of_squares(f64({1}), tensors, Write::accumulate); });
}

TEST(OperationCosts, MovingAndFilling) {
  const TensorView wide = f32({6, 8});     // 192 bytes
  const TensorView narrow = bf16({6, 8});  // 96
  expect_cost(TraceOp::add, {0, 3 * 96}, [&](Ops& ops) { ops.add(narrow, narrow, narrow); });
  expect_cost(TraceOp::dropout, {0, 2 * 96 + 4},
              [&](Ops& ops) { ops.dropout({.out_RM = narrow, .x_RM = narrow, .step = i32({1}), .rate = 0.1}); });
  expect_cost(TraceOp::cast, {0, 192 + 96}, [&](Ops& ops) { ops.copy(narrow, wide); });
  expect_cost(TraceOp::cast, {0, 192 + 96 + 4},
              [&](Ops& ops) { ops.cast_stochastic({.out = narrow, .in = wide, .step = i32({1})}); });
  expect_cost(TraceOp::copy, {0, 2 * 192}, [&](Ops& ops) { ops.copy(wide, wide); });
  expect_cost(TraceOp::copy, {0, 2 * 96}, [&](Ops& ops) { ops.transfer(narrow, narrow).wait(); });
  expect_cost(TraceOp::fill, {0, 192}, [&](Ops& ops) { ops.fill(wide, 1.0); });
  expect_cost(TraceOp::fill_normal, {0, 192}, [&](Ops& ops) { ops.fill_normal({.out = wide}); });
  expect_cost(TraceOp::upload, {0, 2 * 24}, [](Ops& ops) { ops.upload(i32({6}), nullptr); });
  expect_cost(TraceOp::read_f64, {0, 2 * 8}, [](Ops& ops) { ops.read_f64(f64({1})); });
  expect_cost(TraceOp::read_f64, {0, 2 * 24}, [](Ops& ops) {
    std::array<double, 3> values{};
    ops.read_f64(values, f64({3}));
  });
}

TEST(OperationCosts, AreAddedUpUntilTheTableIsTakenAway) {
  const auto ops = make_dry_ops();
  OperationTable table;
  ops->set_table(&table);
  ops->fill(f32({6}), 0.0);
  ops->fill(f32({10}), 0.0);
  ops->fill(f32({10}), 0.0);
  ops->set_table(nullptr);
  ops->fill(f32({100}), 0.0);
  ASSERT_EQ(table.size(), 2U) << "one row for each form";
  const auto& [of_six, of_ten] = std::pair(table.begin()->second, std::next(table.begin())->second);
  EXPECT_EQ(of_six.calls, 1);
  EXPECT_EQ(of_six.bytes, 24);
  EXPECT_EQ(of_six.dims, std::vector<std::int64_t>{6});
  EXPECT_EQ(of_ten.calls, 2);
  EXPECT_EQ(of_ten.bytes, 2 * 40);
}

}  // namespace
}  // namespace perfbench::engine
