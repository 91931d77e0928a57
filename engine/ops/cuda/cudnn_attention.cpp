// Attention as one operation of a cuDNN graph (cuDNN documentation, "Attention"): bf16, causal with the mask's corner
// at the top left, statistics = logsumexp of the scaled scores by the natural logarithm, which is ops.h's definition.
//
// Where the same bits are wanted, the backward pass asks for the deterministic algorithm. On Hopper, cuDNN before 9.25
// holds the gradient of all scores for it, B*H*T*T bf16 numbers; where that is more than what engine/ops/workspace.h
// plans, the own kernels compute instead.
#include <cudnn_frontend.h>

#include <cmath>
#include <iostream>
#include <tuple>

#include "engine/core/error.h"
#include "engine/ops/cuda/attention_provider.h"
#include "engine/ops/workspace.h"

namespace perfbench::engine::cuda {
namespace {

namespace fe = cudnn_frontend;
using fe::graph::Graph;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

enum Id : std::int64_t {
  query_id = 1,
  key_id,
  value_id,
  context_id,
  statistics_id,
  dcontext_id,
  dquery_id,
  dkey_id,
  dvalue_id
};

void cudnn_check(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw EngineError(EngineExit::failed, std::string(call) + " failed: " + cudnnGetErrorString(status));
}

std::int64_t scratch_bytes(const AttentionDims& d) {
  return workspace::attention_backward_bytes(d.batch * d.seq_len, d.n_heads, d.head_dim);
}

// [B, heads, T, D] as it lies in [B*T, heads*D].
fe::graph::Tensor_attributes of_heads(const AttentionDims& d, Id id, std::int64_t heads) {
  return fe::graph::Tensor_attributes()
      .set_uid(id)
      .set_dim({d.batch, heads, d.seq_len, d.head_dim})
      .set_stride({d.seq_len * heads * d.head_dim, d.head_dim, heads * d.head_dim, 1});
}

fe::graph::Tensor_attributes of_rows(const AttentionDims& d) {
  return fe::graph::Tensor_attributes()
      .set_uid(statistics_id)
      .set_dim({d.batch, d.n_heads, d.seq_len, 1})
      .set_stride({d.n_heads * d.seq_len, d.seq_len, 1, 1})
      .set_data_type(fe::DataType_t::FLOAT);
}

// An output with the layout that `like` describes.
void put_out(const Tensor& output, const fe::graph::Tensor_attributes& like) {
  output->set_output(true).set_uid(like.get_uid()).set_dim(like.get_dim()).set_stride(like.get_stride());
}

float score_factor(const AttentionDims& d) {
  return 1.0F / std::sqrt(static_cast<float>(d.head_dim));
}

std::shared_ptr<Graph> empty_graph() {
  auto graph = std::make_shared<Graph>();
  graph->set_io_data_type(fe::DataType_t::BFLOAT16)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  return graph;
}

std::shared_ptr<Graph> forward_graph(const AttentionDims& d) {
  auto graph = empty_graph();
  auto [context, statistics] =
      graph->sdpa(graph->tensor(of_heads(d, query_id, d.n_heads)), graph->tensor(of_heads(d, key_id, d.n_kv_heads)),
                  graph->tensor(of_heads(d, value_id, d.n_kv_heads)),
                  fe::graph::SDPA_attributes()
                      .set_name("attention")
                      .set_generate_stats(true)
                      .set_causal_mask(true)
                      .set_attn_scale(score_factor(d)));
  put_out(context, of_heads(d, context_id, d.n_heads));
  put_out(statistics, of_rows(d));
  statistics->set_data_type(fe::DataType_t::FLOAT);
  return graph;
}

std::shared_ptr<Graph> backward_graph(const AttentionDims& d, Summation summation) {
  auto graph = empty_graph();
  auto [dquery, dkey, dvalue] = graph->sdpa_backward(
      graph->tensor(of_heads(d, query_id, d.n_heads)), graph->tensor(of_heads(d, key_id, d.n_kv_heads)),
      graph->tensor(of_heads(d, value_id, d.n_kv_heads)), graph->tensor(of_heads(d, context_id, d.n_heads)),
      graph->tensor(of_heads(d, dcontext_id, d.n_heads)), graph->tensor(of_rows(d)),
      fe::graph::SDPA_backward_attributes()
          .set_name("attention_backward")
          .set_causal_mask(true)
          .set_attn_scale(score_factor(d))
          .set_deterministic_algorithm(summation == Summation::same_bits));
  put_out(dquery, of_heads(d, dquery_id, d.n_heads));
  put_out(dkey, of_heads(d, dkey_id, d.n_kv_heads));
  put_out(dvalue, of_heads(d, dvalue_id, d.n_kv_heads));
  return graph;
}

// Empty: an execution plan is built and fits the scratch.
std::string build(Graph& graph, cudnnHandle_t handle, std::int64_t scratch) {
  for (const auto& step : {
           std::function<fe::error_t()>([&] { return graph.validate(); }),
           std::function<fe::error_t()>([&] { return graph.build_operation_graph(handle); }),
           std::function<fe::error_t()>([&] { return graph.create_execution_plans({fe::HeurMode_t::A}); }),
           std::function<fe::error_t()>([&] {
             graph.deselect_workspace_greater_than(scratch);
             return graph.check_support(handle);
           }),
           std::function<fe::error_t()>([&] { return graph.build_plans(handle); }),
       }) {
    if (auto status = step(); status.is_bad()) return status.get_message();
  }
  std::int64_t needed = 0;
  if (auto status = graph.get_workspace_size(needed); status.is_bad()) return status.get_message();
  if (needed <= scratch) return {};
  return "needs " + std::to_string(needed) + " bytes of workspace, planned are " + std::to_string(scratch);
}

class CudnnAttention final : public AttentionProvider {
 public:
  CudnnAttention(const CudaDevice& device, Summation summation) : summation_(summation) {
    cudnn_check(cudnnCreate(&handle_), "cudnnCreate");
    cudnn_check(cudnnSetStream(handle_, device.compute()), "cudnnSetStream");
  }
  ~CudnnAttention() override { cudnnDestroy(handle_); }
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  Refusal forward(const AttentionForwardArgs& args, void* scratch) override {
    if (args.query.dtype != DType::bf16) return "cuDNN computes attention in bf16 alone";
    const Plan& plan = plan_for(Direction::forward, args.dims);
    if (plan.graph == nullptr) return plan.refusal;
    execute(*plan.graph,
            {{query_id, args.query.data},
             {key_id, args.key.data},
             {value_id, args.value.data},
             {context_id, args.context.data},
             {statistics_id, args.logsumexp_BHT.data}},
            scratch);
    return std::nullopt;
  }

  Refusal backward(const AttentionBackwardArgs& args, void* scratch) override {
    if (args.query.dtype != DType::bf16) return "cuDNN computes attention in bf16 alone";
    const Plan& plan = plan_for(Direction::backward, args.dims);
    if (plan.graph == nullptr) return plan.refusal;
    execute(*plan.graph,
            {{query_id, args.query.data},
             {key_id, args.key.data},
             {value_id, args.value.data},
             {context_id, args.context.data},
             {dcontext_id, args.dcontext.data},
             {statistics_id, args.logsumexp_BHT.data},
             {dquery_id, args.dquery.data},
             {dkey_id, args.dkey.data},
             {dvalue_id, args.dvalue.data}},
            scratch);
    return std::nullopt;
  }

 private:
  struct Plan {
    std::shared_ptr<Graph> graph;  // nullptr: refused
    std::string refusal;
  };
  // B, T, H, K, D
  using Key = std::tuple<Direction, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

  const Plan& plan_for(Direction direction, const AttentionDims& d) {
    const Key key{direction, d.batch, d.seq_len, d.n_heads, d.n_kv_heads, d.head_dim};
    const auto [entry, missing] = plans_.try_emplace(key);
    Plan& plan = entry->second;
    if (!missing) return plan;
    const bool is_forward = direction == Direction::forward;
    auto graph = is_forward ? forward_graph(d) : backward_graph(d, summation_);
    plan.refusal = build(*graph, handle_, scratch_bytes(d));
    if (plan.refusal.empty()) {
      plan.graph = std::move(graph);
      return plan;
    }
    plan.refusal = "cuDNN does not compute attention " + std::string(is_forward ? "forward" : "backward") +
                   " of B=" + std::to_string(d.batch) + " T=" + std::to_string(d.seq_len) +
                   " H=" + std::to_string(d.n_heads) + " K=" + std::to_string(d.n_kv_heads) +
                   " D=" + std::to_string(d.head_dim) + ": " + plan.refusal;
    std::cerr << "perfbench-engine: " << plan.refusal << std::endl;
    return plan;
  }

  void execute(const Graph& graph, std::unordered_map<std::int64_t, void*> tensors, void* scratch) const {
    if (auto status = graph.execute(handle_, tensors, scratch); status.is_bad()) {
      throw EngineError(EngineExit::failed, "attention: cuDNN failed: " + status.get_message());
    }
  }

  const Summation summation_;
  cudnnHandle_t handle_ = nullptr;
  std::map<Key, Plan> plans_;
};

}  // namespace

std::unique_ptr<AttentionProvider> make_cudnn_attention(const CudaDevice& device, Summation summation) {
  return std::make_unique<CudnnAttention>(device, summation);
}

std::map<std::string, std::string> cudnn_versions() {
  const auto version = cudnnGetVersion();
  const auto text = [](auto major, auto minor, auto patch) {
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  };
  return {{"cudnn", text(version / 10000, version % 10000 / 100, version % 100)},
          {"cudnn_frontend",
           text(CUDNN_FRONTEND_MAJOR_VERSION, CUDNN_FRONTEND_MINOR_VERSION, CUDNN_FRONTEND_PATCH_VERSION)}};
}

}  // namespace perfbench::engine::cuda
