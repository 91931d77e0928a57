// One head of a [B*T, heads*D] tensor as a strided f32 matrix [T, D]: in place where the tensor is f32, a contiguous
// copy where it is bf16.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/ops/cpu/rows.h"
#include "engine/ops/ops.h"

namespace perfbench::engine::cpu {

struct HeadMatrix {
  const float* data = nullptr;
  std::int64_t stride = 0;  // floats between rows

  const float* row(std::int64_t t) const { return data + t * stride; }
};

struct HeadPlace {
  std::int64_t batch = 0;
  std::int64_t head = 0;
};

inline HeadMatrix read_head(const TensorView& t, const AttentionDims& d, HeadPlace at, std::vector<float>& copy) {
  const std::int64_t width = t.shape[1];
  const std::int64_t first = at.batch * d.seq_len * width + at.head * d.head_dim;
  if (t.dtype == DType::f32) return {t.as<float>() + first, width};
  copy.resize(static_cast<std::size_t>(d.seq_len * d.head_dim));
  for (std::int64_t r = 0; r < d.seq_len; ++r) {
    widen(t.as<Bf16>() + first + r * width, copy.data() + r * d.head_dim, d.head_dim);
  }
  return {copy.data(), d.head_dim};
}

// A head that is computed in f32 [T, D], contiguous, and then rounded into its tensor.
class HeadResult {
 public:
  void start(const AttentionDims& d) { values_.assign(static_cast<std::size_t>(d.seq_len * d.head_dim), 0.0F); }
  float* data() { return values_.data(); }

  void finish(const TensorView& t, const AttentionDims& d, HeadPlace at) const {
    const std::int64_t width = t.shape[1];
    const std::int64_t first = at.batch * d.seq_len * width + at.head * d.head_dim;
    for (std::int64_t r = 0; r < d.seq_len; ++r) {
      const float* from = values_.data() + r * d.head_dim;
      if (t.dtype == DType::f32) {
        std::copy(from, from + d.head_dim, t.as<float>() + first + r * width);
      } else {
        narrow(from, t.as<Bf16>() + first + r * width, d.head_dim);
      }
    }
  }

 private:
  std::vector<float> values_;
};

// What one thread needs for its heads.
struct HeadScratch {
  std::vector<float> query;
  std::vector<float> key;
  std::vector<float> value;
  std::vector<float> dcontext;
  std::vector<float> context;
  std::vector<float> scores;
  std::vector<float> dscores;
  std::vector<float> delta;
  HeadResult result;
  HeadResult dquery;
  HeadResult dkey;
  HeadResult dvalue;
};

}  // namespace perfbench::engine::cpu
