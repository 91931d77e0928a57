#include "workloads/spec/json_words.h"

#include <array>
#include <utility>

namespace perfbench::spec {
namespace {

struct Word {
  std::string_view word;
  std::string_view quoted;
};
constexpr std::array kWords{Word{"-Infinity", R"("-Infinity")"}, Word{"Infinity", R"("Infinity")"},
                            Word{"NaN", R"("NaN")"}};
constexpr std::size_t kLookahead = 10;  // the longest word, and the byte behind it
constexpr std::size_t kReadBytes = std::size_t{256} << 10;

}  // namespace

ByteReader bytes_of(std::string_view text) {
  return [text](char* data, std::size_t size) mutable {
    const auto count = text.copy(data, size);
    text.remove_prefix(count);
    return count;
  };
}

QuotedWords::QuotedWords(ByteReader read) : read_(std::move(read)) {
  refill();
  look_for_word();
}

void QuotedWords::next() {
  if (!quoted_.empty()) {
    quoted_.remove_prefix(1);
    return;
  }
  const char passed = text_[at_++];
  if (passed == '\n') ++line_;
  if (in_string_) {
    const bool ends = passed == '"' && !escaped_;
    escaped_ = passed == '\\' && !escaped_;
    in_string_ = !ends;
  } else {
    in_string_ = passed == '"';
  }
  if (text_.size() - at_ < kLookahead && !all_read_) refill();
  look_for_word();
}

void QuotedWords::look_for_word() {
  if (in_string_ || at_ == text_.size()) return;
  const char first = text_[at_];
  if (first != 'N' && first != 'I' && first != '-') return;
  for (const auto& [word, quoted] : kWords) {
    if (text_.compare(at_, word.size(), word) != 0) continue;
    at_ += word.size();
    quoted_ = quoted;
    return;
  }
}

void QuotedWords::refill() {
  text_.erase(0, at_);
  at_ = 0;
  while (text_.size() < kLookahead && !all_read_) {
    const auto before = text_.size();
    text_.resize(before + kReadBytes);
    const auto count = read_(text_.data() + before, kReadBytes);
    text_.resize(before + count);
    all_read_ = count == 0;
  }
}

}  // namespace perfbench::spec
