// JSON text with the words NaN, Infinity and -Infinity as strings. Python and other programs write these words for
// numbers that are not finite, although they are not JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace perfbench::spec {

// Fills `data` with the next bytes of a document; returns their number, 0 at the end.
using ByteReader = std::function<std::size_t(char* data, std::size_t size)>;

// A reader of text that the caller keeps.
ByteReader bytes_of(std::string_view text);

// The bytes of a document, one at a time.
class QuotedWords {
 public:
  explicit QuotedWords(ByteReader read);

  bool at_end() const { return quoted_.empty() && at_ == text_.size(); }
  char current() const { return quoted_.empty() ? text_[at_] : quoted_.front(); }
  void next();
  std::int64_t line() const { return line_; }  // of the current byte, from 1

 private:
  void look_for_word();
  void refill();

  ByteReader read_;
  std::string text_;         // bytes from the current one on, and some before it
  std::size_t at_ = 0;       // of the current byte
  std::string_view quoted_;  // the rest of a word with its quotes, which comes before these bytes
  std::int64_t line_ = 1;
  bool all_read_ = false;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace perfbench::spec
