// Packs the documents of a data set into rows, several whole documents one behind the other. The assignment is made
// once and serves every epoch, which only shuffles the rows: attention does not cross documents, so only sums over a
// batch depend on which documents share a row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace perfbench::engine {

class PackedRows {
 public:
  struct Piece {
    std::int64_t origin = 0;  // its place in the data set in the unit of its source: documents or tokens
    std::int64_t tokens = 0;
  };

  // Each piece, of 1 to row_tokens tokens, goes into the first row that has room for it (first fit). Full rows add no
  // time to later searches, and the room left at the end becomes padding. Takes 16 bytes a piece, and as much again
  // during construction.
  PackedRows(std::span<const Piece> pieces, std::int64_t row_tokens);

  std::int64_t rows() const { return static_cast<std::int64_t>(ends_.size()); }
  std::span<const Piece> row(std::int64_t index) const;
  // first[t]: where the piece of token t begins. Each position of the padding is a document by itself, which attends
  // only to itself.
  void document_starts(std::int64_t row, std::span<std::int32_t> first) const;

 private:
  std::vector<Piece> pieces_;  // by row
  std::vector<std::int64_t> ends_;
};

}  // namespace perfbench::engine
