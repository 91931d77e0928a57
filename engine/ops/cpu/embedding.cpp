#include <algorithm>
#include <string>

#include "engine/core/error.h"
#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/rows.h"

namespace perfbench::engine {
namespace {

void check_tokens(const TensorView& tokens, std::int64_t vocabulary) {
  const auto* values = tokens.as<std::int32_t>();
  for (std::int64_t i = 0; i < tokens.elements(); ++i) {
    if (values[i] < 0 || values[i] >= vocabulary) {
      throw BadInput("token " + std::to_string(values[i]) + " at position " + std::to_string(i) +
                     " of a batch is outside the vocabulary of " + std::to_string(vocabulary));
    }
  }
}

}  // namespace

void CpuOps::do_embedding_forward(const EmbeddingForwardArgs& args) {
  check_tokens(args.tokens_N, args.table_VM.shape[0]);
  const std::int64_t m = args.x_NM.shape[1];
  const auto* tokens = args.tokens_N.as<std::int32_t>();
#pragma omp parallel
  {
    std::vector<float> word_buffer;
    std::vector<float> place_buffer;
    std::vector<float> x_buffer;
#pragma omp for
    for (std::int64_t row = 0; row < args.x_NM.shape[0]; ++row) {
      const float* word = cpu::read_row(args.table_VM, tokens[row], m, word_buffer);
      float* x = cpu::write_row(args.x_NM, row, m, x_buffer);
      if (args.position_TM.defined()) {
        const float* place = cpu::read_row(args.position_TM, row % args.seq_len, m, place_buffer);
        for (std::int64_t i = 0; i < m; ++i) x[i] = word[i] + place[i];
      } else {
        std::copy(word, word + m, x);
      }
      cpu::finish_row(args.x_NM, row, m, x_buffer);
    }
  }
}

// Strips of columns over threads: every row of a table is added to in the order of the tokens.
void CpuOps::do_embedding_backward(const EmbeddingBackwardArgs& args) {
  const std::int64_t m = args.dx_NM.shape[1];
  const auto* tokens = args.tokens_N.as<std::int32_t>();
  constexpr std::int64_t kStrip = 128;
#pragma omp parallel for
  for (std::int64_t first = 0; first < m; first += kStrip) {
    const std::int64_t count = std::min(kStrip, m - first);
    float buffer[kStrip];
    for (std::int64_t row = 0; row < args.dx_NM.shape[0]; ++row) {
      const float* dx = buffer;
      if (args.dx_NM.dtype == DType::f32) {
        dx = args.dx_NM.as<float>() + row * m + first;
      } else {
        cpu::widen(args.dx_NM.as<cpu::Bf16>() + row * m + first, buffer, count);
      }
      float* word = args.dtable_VM.as<float>() + tokens[row] * m + first;
      for (std::int64_t i = 0; i < count; ++i) word[i] += dx[i];
      if (!args.dposition_TM.defined()) continue;
      float* place = args.dposition_TM.as<float>() + (row % args.seq_len) * m + first;
      for (std::int64_t i = 0; i < count; ++i) place[i] += dx[i];
    }
  }
}

}  // namespace perfbench::engine
