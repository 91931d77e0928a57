#include "engine/data/packed_rows.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace perfbench::engine {
namespace {

// The free room in the rows, as a tree whose inner nodes hold the maximum of their children.
class Rooms {
 public:
  Rooms(std::size_t rows, std::int64_t row_tokens) : leaves_(std::bit_ceil(rows)), most_(2 * leaves_, row_tokens) {}

  // Returns the first row that has room for `tokens` and takes the room away.
  std::size_t take(std::int64_t tokens) {
    std::size_t at = 1;
    while (at < leaves_) {
      at *= 2;
      if (most_[at] < tokens) ++at;
    }
    most_[at] -= tokens;
    const std::size_t row = at - leaves_;
    for (at /= 2; at > 0; at /= 2) most_[at] = std::max(most_[2 * at], most_[2 * at + 1]);
    return row;
  }

 private:
  std::size_t leaves_;
  std::vector<std::int64_t> most_;
};

}  // namespace

PackedRows::PackedRows(std::span<const Piece> pieces, std::int64_t row_tokens) : pieces_(pieces.size()) {
  if (pieces.empty()) return;
  Rooms rooms(pieces.size(), row_tokens);
  std::vector<std::size_t> row_of(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    row_of[i] = rooms.take(pieces[i].tokens);
    if (row_of[i] >= ends_.size()) ends_.resize(row_of[i] + 1);
    ++ends_[row_of[i]];
  }
  std::int64_t begin = 0;
  for (auto& end : ends_) {
    const std::int64_t count = end;
    end = begin;  // the pieces advance it to the end of the row
    begin += count;
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    pieces_[static_cast<std::size_t>(ends_[row_of[i]]++)] = pieces[i];
  }
}

std::span<const PackedRows::Piece> PackedRows::row(std::int64_t index) const {
  const auto at = static_cast<std::size_t>(index);
  const auto begin = static_cast<std::size_t>(index == 0 ? 0 : ends_[at - 1]);
  return std::span(pieces_).subspan(begin, static_cast<std::size_t>(ends_[at]) - begin);
}

void PackedRows::document_starts(std::int64_t index, std::span<std::int32_t> first) const {
  std::size_t begin = 0;
  for (const auto& piece : row(index)) {
    const auto tokens = static_cast<std::size_t>(piece.tokens);
    std::fill_n(first.begin() + static_cast<std::ptrdiff_t>(begin), tokens, static_cast<std::int32_t>(begin));
    begin += tokens;
  }
  for (; begin < first.size(); ++begin) first[begin] = static_cast<std::int32_t>(begin);
}

}  // namespace perfbench::engine
