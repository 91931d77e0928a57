// Documents of a data set put into rows, several whole ones one behind the other. The assignment is made once and is
// that of every epoch, whose rows come in another order: attention does not cross documents, so nothing but sums over a
// batch depends on which of them share a row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace perfbench::engine {

class PackedRows {
 public:
  struct Piece {
    std::int64_t origin = 0;  // where it is in the data set, as its source counts: by documents or by tokens
    std::int64_t tokens = 0;
  };

  // Each piece, of 1 to row_tokens tokens, goes into the first row that has room for it (first fit): a full row costs
  // nothing later, and what is left over in the end is padding. Takes 16 bytes a piece, and as much again on the way.
  PackedRows(std::span<const Piece> pieces, std::int64_t row_tokens);

  std::int64_t rows() const { return static_cast<std::int64_t>(ends_.size()); }
  std::span<const Piece> row(std::int64_t index) const;
  // first[t]: where the piece of token t begins. Each position of the padding is a document of its own, that sees
  // itself alone.
  void document_starts(std::int64_t row, std::span<std::int32_t> first) const;

 private:
  std::vector<Piece> pieces_;  // by row
  std::vector<std::int64_t> ends_;
};

}  // namespace perfbench::engine
