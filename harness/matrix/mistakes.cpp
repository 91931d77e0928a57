#include "harness/matrix/mistakes.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "harness/matrix/yaml_document.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kMostNamed = 20;
constexpr std::size_t kMostLookedFor = 1000;

constexpr SourcePosition kBehindTheFile{.line = std::numeric_limits<std::int64_t>::max(), .column = 1};

bool stands_before(SourcePosition a, SourcePosition b) {
  return std::tie(a.line, a.column) < std::tie(b.line, b.column);
}

}  // namespace

void Mistakes::add(const Origin& origin, const std::string& text) {
  if (!texts_.insert(text).second) return;
  const auto at = origin.command_line.empty() ? document_.position(origin.pointer) : kBehindTheFile;
  const auto behind =
      std::find_if(found_.begin(), found_.end(), [at](const Mistake& other) { return stands_before(at, other.at); });
  found_.insert(behind, {at, text});
  if (found_.size() == kMostLookedFor) throw TooManyMistakes();
}

void Mistakes::throw_if_any() const {
  if (!any()) return;
  std::string all;
  const auto named = std::min(found_.size(), kMostNamed);
  for (std::size_t i = 0; i < named; ++i) all += (i > 0 ? "\n" : "") + found_[i].text;
  if (const auto left = found_.size() - named; left > 0) {
    const auto count = (found_.size() == kMostLookedFor ? "at least " : "") + std::to_string(left);
    all += "\n" + std::string(document_.error("", count + " more mistakes are not named here").what());
  }
  throw InputError(all);
}

}  // namespace perfbench::harness
