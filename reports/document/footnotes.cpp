#include "reports/document/footnotes.h"

namespace perfbench::reports {

std::size_t Footnotes::number(const std::string& note) {
  const auto [found, is_new] = numbers_.try_emplace(note, notes_.size() + 1);
  if (is_new) notes_.push_back(note);
  return found->second;
}

}  // namespace perfbench::reports
