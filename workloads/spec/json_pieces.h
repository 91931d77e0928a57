// Reads a JSON document of any size piece by piece. A pattern such as "/benchmarks/*" names the values that are passed
// on, one at a time; everything else is checked and skipped. So the memory is that of the largest piece. The words NaN
// and Infinity, which other programs write although JSON has none, arrive as strings. Include in .cpp files only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/spec/json_words.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::spec {

struct JsonPiece {
  std::size_t pattern = 0;         // index of the pattern that it matches
  std::vector<std::string> names;  // its path: keys, and the indices of elements
  Json value;
};

// A mistake in the document, with its line. pointer() is the path of the value.
class PieceError : public SpecError {
 public:
  PieceError(std::int64_t line, std::string pointer, const std::string& message)
      : SpecError(std::move(pointer), message), line_(line) {}
  std::int64_t line() const { return line_; }
  // "at /benchmarks/3: what is wrong"
  std::string text() const;

 private:
  std::int64_t line_;
};

// In a pattern, * stands for any key or index. No value may match two patterns, or lie inside another one that does.
// `take` may throw SpecError with a pointer inside the piece. Throws PieceError. Takes time in proportion to the
// document, and memory in proportion to its largest piece.
void read_json_pieces(const ByteReader& bytes, const std::vector<std::string>& patterns,
                      const std::function<void(JsonPiece)>& take);

}  // namespace perfbench::spec
