// How the ranks along tp share a layer: the residual stream, and all work on single rows of it, is cut by rows; for the
// products in between, a rank has all tokens and a part of the heads or of the hidden width. Rows are gathered before
// these products, and the partial sums are added and cut after them (Korthikanti et al., "Reducing Activation
// Recomputation in Large Transformer Models", arXiv:2205.05198, 4.2.2). With one rank none of this does or allocates
// anything.
//
// A rank has R rows: N tokens divided by the ranks, rounded up. Rows beyond the N tokens are padding: their sums are
// zero, and so are their gradients.
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
  // The number of this rank's rows that are tokens.
  std::int64_t own_tokens() const { return std::clamp<std::int64_t>(tokens_ - index_ * rows_, 0, rows_); }
  std::int64_t d_model() const { return d_model_; }

  // A buffer for the rows of all ranks.
  Tensor buffer(std::string name) const;
  // This rank's rows of a buffer, and all tokens of it; for any width.
  TensorView rows_of(TensorView buffer) const;
  TensorView tokens_of(TensorView buffer) const { return buffer.slice(0, Shape{tokens_, buffer.shape[1]}); }

  // Gathers all tokens; each rank's rows already lie in their place of the buffer.
  TensorView gather(TensorView buffer) const;
  // Gathers all tokens from rows that lie elsewhere. `buffer` is allocated if needed; with one rank, the rows are all
  // tokens.
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
  // `out_RM` receives this rank's rows of the sums. Parts are made in `buffer` if one is given, whose rows may be
  // `out_RM`, else in a new buffer.
  PartialSums(const Context& context, const TensorParallel& ranks, std::string name, TensorView out_RM,
              TensorView buffer = {});
  // This rank's part, to be written and added to.
  TensorView tokens_NM() const { return ranks_.tokens_of(parts_); }
  // Call it once the part is complete. Parts have the type of the sum, and are added in f32.
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
