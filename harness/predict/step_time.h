// The time of a step from its parts: overlap inside a layer, the pipeline, and the slowest of many devices. Its terms
// add up to the total.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "harness/predict/step_parts.h"

namespace perfbench::predict {

// Logarithms of the factors on the parts that a fit may correct. All 0: nothing is fitted.
struct Corrections {
  double matmul = 0;     // of the device's architecture, plus that of the group
  double attention = 0;  // of the group
  double memory = 0;
  double network = 0;
  double contention = 0;
  double straggler = 0;
};

enum class StepTerm {
  matmul,  // products of layers, with recomputed ones
  attention,
  memory,    // memory-bound kernels of layers
  launches,  // gaps between kernels, and layers that wait for the host
  tensor_parallel,
  exposed_communication,  // of sharded weights, and what hidden communication costs the computation
  head,                   // logits, loss and embeddings
  pipeline,               // bubble and messages between stages
  data_parallel,          // reduction of gradients and gathering of weights, once a step
  optimizer,
  host,
  stragglers,
};
inline constexpr std::array<std::string_view, 12> kStepTermNames{
    "matmul",   "attention",     "memory",    "launches", "tensor_parallel", "exposed_communication", "head",
    "pipeline", "data_parallel", "optimizer", "host",     "stragglers"};

struct StepTime {
  double total_s = 0;
  std::array<double, kStepTermNames.size()> terms_s{};  // by StepTerm; they add up to total_s

  double term_s(StepTerm term) const { return terms_s[static_cast<std::size_t>(term)]; }
  std::string_view largest_term() const;
};

StepTime step_time(const StepParts& parts, const Corrections& corrections = {});

// The expected maximum of n standard normal numbers: from extreme value theory, with the exact values for 2 and 3.
double expected_maximum(double n);

}  // namespace perfbench::predict
