#include "harness/system/command_words.h"

#include "harness/system/input_error.h"

namespace perfbench::harness {

std::vector<std::string> command_words(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  bool within_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      within_word = true;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      within_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (within_word) out.push_back(std::move(word));
      word.clear();
      within_word = false;
    } else {
      word += c;
      within_word = true;
    }
  }
  if (quote != 0) {
    throw InputError("'" + std::string(text) + "' has a " + std::string(1, quote) + " without its end");
  }
  if (within_word) out.push_back(std::move(word));
  return out;
}

}  // namespace perfbench::harness
