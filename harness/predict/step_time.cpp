#include "harness/predict/step_time.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace perfbench::predict {
namespace {

constexpr double kForwardShare = 1.0 / 3;  // of kernels, gaps and launches
constexpr double kExposedMessages = 0.2;   // of the messages of an interleaved pipeline

// Seconds of communication that a computation of `compute_s` does not hide, and what hiding costs it.
struct Overlap {
  double overlap_fraction = 0;
  double exposed_fraction = 0;
  double contention_fraction = 0;

  double extra_s(double compute_s, double communication_s) const {
    const double hidden = std::min(communication_s * (1 - exposed_fraction), overlap_fraction * compute_s);
    return communication_s - hidden + contention_fraction * hidden;
  }
};

}  // namespace

double expected_maximum(double n) {
  constexpr double kEulerGamma = 0.577;
  if (n <= 1) return 0;
  if (n < 4) return n == 2 ? 0.56 : 0.85;
  const double a = std::sqrt(2 * std::log(n));
  return a - (std::log(std::log(n)) + std::log(4 * std::numbers::pi)) / (2 * a) + kEulerGamma / a;
}

std::string_view StepTime::largest_term() const {
  return kStepTermNames[static_cast<std::size_t>(std::max_element(terms_s.begin(), terms_s.end()) - terms_s.begin())];
}

StepTime step_time(const StepParts& p, const Corrections& corrections) {
  const double matmul = std::exp(corrections.matmul);
  const double attention = std::exp(corrections.attention);
  const double memory = std::exp(corrections.memory);
  const double network = std::exp(corrections.network);
  const Overlap overlap{p.overlap_fraction, p.exposed_fraction,
                        p.contention_fraction * std::exp(corrections.contention)};

  const auto computed = [&](const PassParts& pass) {
    return pass.matmul_s * matmul + pass.attention_s * attention + pass.memory_s * memory;
  };
  const double tensor_parallel = p.tensor_parallel_s * network;
  const double gaps_forward = p.gaps_s * kForwardShare;
  const double gaps_backward = p.gaps_s * (1 - kForwardShare);
  const double ready_forward = computed(p.forward) + gaps_forward + tensor_parallel;
  const double ready_backward = computed(p.backward) + gaps_backward + tensor_parallel;
  const double recompute = computed(p.recompute) + (p.recompute_communicates ? tensor_parallel : 0);
  const double forward = std::max(ready_forward, p.eager_floor_s * kForwardShare);
  const double backward = std::max(ready_backward, p.eager_floor_s * (1 - kForwardShare)) + recompute;
  const double extra_forward = overlap.extra_s(forward, p.forward_gather_s * network);
  const double extra_backward = overlap.extra_s(backward, (p.backward_gather_s + p.gradient_scatter_s) * network);
  const double layer_forward = forward + extra_forward;
  const double layer_backward = backward + extra_backward;
  const double stage = p.layers * (layer_forward + layer_backward);

  StepTime out;
  const auto term = [&out](StepTerm which) -> double& { return out.terms_s[static_cast<std::size_t>(which)]; };
  const double passes = p.microbatches * p.layers;
  term(StepTerm::matmul) = passes * matmul * (p.forward.matmul_s + p.backward.matmul_s + p.recompute.matmul_s);
  term(StepTerm::attention) =
      passes * attention * (p.forward.attention_s + p.backward.attention_s + p.recompute.attention_s);
  term(StepTerm::memory) = passes * memory * (p.forward.memory_s + p.backward.memory_s + p.recompute.memory_s);
  term(StepTerm::launches) = passes * (p.gaps_s + (forward - ready_forward) + (backward - recompute - ready_backward));
  term(StepTerm::tensor_parallel) = passes * tensor_parallel * (p.recompute_communicates ? 3 : 2);
  term(StepTerm::exposed_communication) = passes * (extra_forward + extra_backward);
  const double head = p.head_matmul_s * matmul + p.head_memory_s * memory;
  term(StepTerm::head) = p.microbatches * (head + p.embedding_collectives_s * network);
  if (p.stages > 1) {
    const double message = p.stage_message_s * network;
    term(StepTerm::head) = p.microbatches * head;
    term(StepTerm::pipeline) = (p.stages - 1) / p.interleaving * stage + 2 * (p.stages - 1) * message +
                               kExposedMessages * p.microbatches * p.interleaving * message;
  }
  const Overlap whole{p.overlap_fraction, 0, overlap.contention_fraction};
  term(StepTerm::data_parallel) = whole.extra_s(p.layers * layer_backward, p.gradient_reduction_s * network) +
                                  whole.extra_s(p.layers * layer_forward, p.weight_gather_s * network);
  term(StepTerm::optimizer) = p.optimizer_s * memory;
  term(StepTerm::host) = p.host_s;
  const double step = std::accumulate(out.terms_s.begin(), out.terms_s.end(), 0.0);
  term(StepTerm::stragglers) =
      step * p.straggler_fraction * std::exp(corrections.straggler) * expected_maximum(p.devices);
  out.total_s = std::accumulate(out.terms_s.begin(), out.terms_s.end(), 0.0);
  return out;
}

}  // namespace perfbench::predict
