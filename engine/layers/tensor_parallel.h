// How the ranks along tp share a layer: the residual stream, and what is done to each of its rows alone, is cut by
// rows; in the products between, a rank has all tokens and a part of the heads or of the hidden width. The rows are
// gathered before, the partial sums added and cut after (Korthikanti et al., "Reducing Activation Recomputation in
// Large Transformer Models", arXiv:2205.05198, 4.2.2). With one rank there is nothing to do, and nothing is allocated
// for it.
//
// R rows of a rank: N tokens over the ranks, rounded up. Rows beyond the N tokens hold nothing: their sums are zero,
// and so are their gradients.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "engine/sharding/context.h"

namespace perfbench::engine {

class TensorParallel {
 public:
  TensorParallel(const Context& context, std::int64_t tokens, std::int64_t d_model);

  std::int64_t ranks() const { return ranks_; }
  std::int64_t index() const { return index_; }
  bool first() const { return index_ == 0; }
  std::int64_t rows() const { return rows_; }
  std::int64_t tokens() const { return tokens_; }
  // How many of this rank's rows are tokens.
  std::int64_t own_tokens() const { return std::clamp<std::int64_t>(tokens_ - index_ * rows_, 0, rows_); }
  std::int64_t d_model() const { return d_model_; }

  // Room for the rows of all ranks.
  Tensor buffer(std::string name) const;
  // This rank's rows of a buffer, and all tokens; of any width.
  TensorView rows_of(TensorView buffer) const;
  TensorView tokens_of(TensorView buffer) const { return buffer.slice(0, Shape{tokens_, buffer.shape[1]}); }

  // All tokens, from every rank's rows in its own place of the buffer.
  TensorView gather(TensorView buffer) const;
  // All tokens, from every rank's rows elsewhere. `buffer` is made where it is needed; with one rank the rows are all.
  TensorView gather(TensorView rows_RM, Tensor& buffer, std::string name) const;

 private:
  const Context& context_;
  std::int64_t ranks_;
  std::int64_t index_;
  std::int64_t tokens_;
  std::int64_t rows_;
  std::int64_t d_model_;
};

// Sums of which every rank computes a part for all tokens.
class PartialSums {
 public:
  // `out_RM`: where this rank's rows of the sums go. Parts are made in `buffer` where one is given, whose rows `out_RM`
  // may be, else in memory of their own.
  PartialSums(const Context& context, const TensorParallel& ranks, std::string name, TensorView out_RM,
              TensorView buffer = {});
  // To be written, and added to: this rank's part.
  TensorView tokens_NM() const { return ranks_.tokens_of(parts_); }
  // Once the part is complete. Parts have the type of the sum, and are added in f32.
  void finish();

 private:
  const Context& context_;
  const TensorParallel& ranks_;
  std::string name_;
  TensorView out_RM_;
  Tensor own_;
  TensorView parts_;
};

}  // namespace perfbench::engine
