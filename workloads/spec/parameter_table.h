// The list of a model's tensors, and of adapters beside them: the only list from which parameters are counted,
// allocated, initialised and sharded. Linear weights are [out, in], row-major. If ranks share the work on a layer, a
// weight says along which axis of the mesh each of its dims is divided: "d_ff/tp d_model". Products with a divided
// output need the whole input; those with a divided input leave sums to be added over the axis (Shoeybi et al.,
// "Megatron-LM", arXiv:1909.08053).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/spec/lora_spec.h"
#include "workloads/spec/model_spec.h"

namespace perfbench::spec {

enum class ParameterKind {
  embedding,    // looked up; also multiplies tokens if the embedding is tied
  position,     // looked up
  matmul,       // multiplies every token
  expert,       // multiplies the tokens routed to it: [n_experts, out, in]
  unembedding,  // multiplies every token
  norm,
  bias,
  adapter_a,  // [rank, in] beside a matmul; multiplies every token
  adapter_b,  // [out, rank]
};

// The block in which a weight of kind matmul is a linear layer. A router, which chooses, belongs to no block.
enum class LinearOf { none, attention, feed_forward };

struct ParameterSpec {
  std::string name;                 // "layers.3.query.weight"
  std::vector<std::int64_t> shape;  // global, unsharded
  std::string dims;                 // the dims of the shape by name, with axes: "heads*head_dim/tp d_model"
  ParameterKind kind = ParameterKind::matmul;
  std::int64_t layer = -1;  // -1: outside the layers
  LinearOf linear = LinearOf::none;

  std::int64_t elements() const {
    std::int64_t n = 1;
    for (const auto d : shape) n *= d;
    return n;
  }
  // For each dim "tp", "ep", or nothing if it stays whole.
  std::vector<std::string_view> axes() const;
};

std::vector<ParameterSpec> parameter_table(const ModelSpec& model);

// The parameters of one layer, in the order of use.
std::vector<ParameterSpec> layer_parameters(const ModelSpec& model, std::int64_t layer);
// The adapters of one layer, in the same order: "layers.3.lora.query.a", then its b. If a product is divided, its
// adapter is divided too: b for a divided output, a for a divided input. So the adapter leaves the same sums over an
// axis as its product.
std::vector<ParameterSpec> layer_adapters(const ModelSpec& model, const LoraSpec& lora, std::int64_t layer);
// The parameters outside the layers: embeddings, then final norm and unembedding. `parameter_table` has the layers
// between the two.
std::vector<ParameterSpec> outer_parameters(const ModelSpec& model);

struct ParameterCounts {
  std::int64_t total = 0;
  // Weights that multiply each token: attention, FFN (with experts: the top_k and the router), unembedding; without the
  // embedding lookup, norms, biases and positions. "Nm" of the FLOP definitions.
  std::int64_t matmul_active = 0;
};
ParameterCounts count_parameters(const ModelSpec& model);
// The number of elements of all adapters.
std::int64_t count_adapters(const ModelSpec& model, const LoraSpec& lora);

}  // namespace perfbench::spec
