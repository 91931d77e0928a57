#include "workloads/spec/flops.h"

#include "workloads/spec/parameter_table.h"

namespace perfbench::spec {
namespace {

// L*h*e*T: one product of attention over the full score square, in multiplications per token.
double attention_products(const ModelSpec& model, std::int64_t seq_len) {
  return static_cast<double>(model.layers) * static_cast<double>(model.n_heads) * static_cast<double>(model.head_dim) *
         static_cast<double>(seq_len);
}

// All parameters of the model when it trains on sequences of this length: a learned position table has T rows.
std::int64_t parameters_for(ModelSpec model, std::int64_t seq_len) {
  model.max_seq_len = seq_len;
  return count_parameters(model).total;
}

}  // namespace

double flops_per_token(FlopDefinition definition, const ModelSpec& model, std::int64_t seq_len, const LoraSpec& lora) {
  const auto counts = count_parameters(model);
  const auto of_weights = [&](std::int64_t parameters) {
    if (!lora.used()) return 6 * static_cast<double>(parameters);
    return 4 * static_cast<double>(parameters) + 6 * static_cast<double>(count_adapters(model, lora));
  };
  switch (definition) {
    case FlopDefinition::causal:
      return of_weights(counts.matmul_active) + 6 * attention_products(model, seq_len);
    case FlopDefinition::palm:
      return of_weights(counts.matmul_active) + 12 * attention_products(model, seq_len);
    case FlopDefinition::six_n_total:
      return of_weights(counts.total);
    case FlopDefinition::llm_foundry:
      return of_weights(parameters_for(model, seq_len)) +
             12 * static_cast<double>(model.layers) * static_cast<double>(model.d_model) * static_cast<double>(seq_len);
  }
  return 0;
}

}  // namespace perfbench::spec
