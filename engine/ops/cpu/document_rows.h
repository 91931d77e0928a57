// Positions of tokens in rows that may hold several documents (ops.h).
#pragma once

#include <cstdint>

#include "engine/core/tensor.h"

namespace perfbench::engine::cpu {

class DocumentRows {
 public:
  // first_N: i32, or undefined if each row of seq_len tokens is one document.
  DocumentRows(const TensorView& first_N, std::int64_t seq_len)
      : first_N_(first_N.as<const std::int32_t>()), seq_len_(seq_len) {}

  // The position of token `r`, counted over all rows, in its document.
  std::int64_t position(std::int64_t r) const { return r % seq_len_ - (first_N_ == nullptr ? 0 : first_N_[r]); }
  // Where the documents of a sequence's tokens begin, [T]; null if the sequence is one document.
  const std::int32_t* of_sequence(std::int64_t sequence) const {
    return first_N_ == nullptr ? nullptr : first_N_ + sequence * seq_len_;
  }

 private:
  const std::int32_t* first_N_;
  std::int64_t seq_len_;
};

}  // namespace perfbench::engine::cpu
