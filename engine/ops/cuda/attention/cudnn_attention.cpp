// Attention as one operation of a cuDNN graph (cuDNN documentation, "Attention"): bf16, causal with the mask's corner
// at the top left, statistics = logsumexp of the scaled scores by the natural logarithm, which is ops.h's definition.
//
// If the same bits are wanted, the backward pass uses the deterministic algorithm. On Hopper the front end then holds
// the gradient of all scores of a call, so attention_parts.h divides the call.
#include <cudnn_frontend.h>

#include <array>
#include <bit>
#include <functional>

#include "engine/core/error.h"
#include "engine/ops/cuda/attention/attention_provider.h"

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

fe::graph::Tensor_attributes described(Id id, const HeadTensor& tensor) {
  return fe::graph::Tensor_attributes()
      .set_uid(id)
      .set_dim({tensor.dims.begin(), tensor.dims.end()})
      .set_stride({tensor.strides.begin(), tensor.strides.end()});
}

fe::graph::Tensor_attributes logsumexp(const AttentionLayout& layout) {
  return described(statistics_id, statistics_of(layout)).set_data_type(fe::DataType_t::FLOAT);
}

// Marks an output, with the layout that `like` describes.
void put_out(const Tensor& output, const fe::graph::Tensor_attributes& like) {
  output->set_output(true).set_uid(like.get_uid()).set_dim(like.get_dim()).set_stride(like.get_stride());
}

std::shared_ptr<Graph> empty_graph() {
  auto graph = std::make_shared<Graph>();
  graph->set_io_data_type(fe::DataType_t::BFLOAT16)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  return graph;
}

std::shared_ptr<Graph> forward_graph(const AttentionLayout& layout) {
  auto graph = empty_graph();
  const AttentionStrides& of = layout.strides;
  auto [context, statistics] = graph->sdpa(graph->tensor(described(query_id, queries_of(layout, of.query))),
                                           graph->tensor(described(key_id, keys_of(layout, of.key))),
                                           graph->tensor(described(value_id, keys_of(layout, of.value))),
                                           fe::graph::SDPA_attributes()
                                               .set_name("attention")
                                               .set_generate_stats(true)
                                               .set_causal_mask(true)
                                               .set_attn_scale(layout.dims.score_factor));
  put_out(context, described(context_id, queries_of(layout, of.context)));
  put_out(statistics, logsumexp(layout));
  statistics->set_data_type(fe::DataType_t::FLOAT);
  return graph;
}

std::shared_ptr<Graph> backward_graph(const AttentionLayout& layout, Summation summation) {
  auto graph = empty_graph();
  const AttentionStrides& of = layout.strides;
  const HeadTensor contexts = queries_of(layout, of.context);
  auto [dquery, dkey, dvalue] = graph->sdpa_backward(
      graph->tensor(described(query_id, queries_of(layout, of.query))),
      graph->tensor(described(key_id, keys_of(layout, of.key))),
      graph->tensor(described(value_id, keys_of(layout, of.value))), graph->tensor(described(context_id, contexts)),
      graph->tensor(described(dcontext_id, contexts)), graph->tensor(logsumexp(layout)),
      fe::graph::SDPA_backward_attributes()
          .set_name("attention_backward")
          .set_causal_mask(true)
          .set_attn_scale(layout.dims.score_factor)
          .set_deterministic_algorithm(summation == Summation::same_bits));
  put_out(dquery, described(dquery_id, queries_of(layout, of.dquery)));
  put_out(dkey, described(dkey_id, keys_of(layout, of.dkey)));
  put_out(dvalue, described(dvalue_id, keys_of(layout, of.dvalue)));
  return graph;
}

// Returns an empty string if an execution plan was built and fits into the scratch memory.
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

  Refusal prepare(Direction direction, const AttentionLayout& layout, std::int64_t scratch_bytes) override {
    const auto [entry, missing] = plans_.try_emplace(key_of(direction, layout));
    Plan& plan = entry->second;
    if (missing) make(plan, direction, layout, scratch_bytes);
    if (plan.graph == nullptr) return plan.refusal;
    return std::nullopt;
  }

  void compute(Direction direction, const AttentionLayout& layout, const AttentionAddresses& at,
               void* scratch) override {
    std::unordered_map<std::int64_t, void*> tensors{{query_id, at.query},
                                                    {key_id, at.key},
                                                    {value_id, at.value},
                                                    {context_id, at.context},
                                                    {statistics_id, at.logsumexp}};
    if (direction == Direction::backward) {
      tensors.insert({{dcontext_id, at.dcontext}, {dquery_id, at.dquery}, {dkey_id, at.dkey}, {dvalue_id, at.dvalue}});
    }
    const Plan& plan = plans_.at(key_of(direction, layout));
    if (auto status = plan.graph->execute(handle_, tensors, scratch); status.is_bad()) {
      throw EngineError(EngineExit::failed, "attention: cuDNN failed: " + status.get_message());
    }
  }

 private:
  struct Plan {
    std::shared_ptr<Graph> graph;  // nullptr if refused
    std::string refusal;
  };
  using Key = std::pair<std::array<std::int64_t, 7>, AttentionStrides>;

  static Key key_of(Direction direction, const AttentionLayout& layout) {
    const AttentionDims& d = layout.dims;
    return {{static_cast<std::int64_t>(direction), d.batch, d.seq_len, d.n_heads, d.n_kv_heads, d.head_dim,
             std::bit_cast<std::int32_t>(d.score_factor)},
            layout.strides};
  }

  void make(Plan& plan, Direction direction, const AttentionLayout& layout, std::int64_t scratch_bytes) const {
    const bool is_forward = direction == Direction::forward;
    auto graph = is_forward ? forward_graph(layout) : backward_graph(layout, summation_);
    const std::string problem = build(*graph, handle_, scratch_bytes);
    if (problem.empty()) {
      plan.graph = std::move(graph);
      return;
    }
    const AttentionDims& d = layout.dims;
    plan.refusal = std::string(is_forward ? "forward" : "backward") + " of B=" + std::to_string(d.batch) +
                   " T=" + std::to_string(d.seq_len) + " H=" + std::to_string(d.n_heads) +
                   " K=" + std::to_string(d.n_kv_heads) + " D=" + std::to_string(d.head_dim) + ": " + problem;
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
