#include "reports/document/footnotes.h"

#include <algorithm>

namespace perfbench::reports {

std::size_t Footnotes::number(const std::string& note) {
  const auto found = std::find(notes_.begin(), notes_.end(), note);
  const auto number = static_cast<std::size_t>(found - notes_.begin()) + 1;
  if (found == notes_.end()) notes_.push_back(note);
  return number;
}

}  // namespace perfbench::reports
