// Rows of several documents, one behind the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/engine/oracle/operand.h"

namespace perfbench::engine {

// The tokens of each document, repeated from the first one when all are used; each row begins with the next document,
// and cuts its last. Empty: a row is one document.
using DocumentLengths = std::vector<std::int64_t>;

// For every token, where its document begins within its row, i32 [rows * seq_len].
inline oracle::Operand document_starts(std::int64_t rows, std::int64_t seq_len, const DocumentLengths& lengths) {
  oracle::Values first;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t begin = 0, next = row; begin < seq_len; ++next) {
      const auto length = lengths.empty() ? seq_len : lengths[static_cast<std::size_t>(next) % lengths.size()];
      const auto end = std::min(seq_len, begin + length);
      first.insert(first.end(), static_cast<std::size_t>(end - begin), static_cast<double>(begin));
      begin = end;
    }
  }
  return {DType::i32, Shape{rows * seq_len}, first};
}

}  // namespace perfbench::engine
