#include "workloads/spec/suggest.h"

#include <algorithm>
#include <utility>

namespace perfbench::spec {
namespace {

constexpr std::size_t kLongestWord = 200;  // the table is quadratic; a longer key is not a typing error

// Optimal string alignment distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > kLongestWord) return std::nullopt;
  const std::size_t limit = std::max<std::size_t>(2, word.size() / 3);
  std::optional<std::string> best;
  std::size_t best_distance = limit + 1;
  for (const auto& candidate : candidates) {
    if (candidate.size() > kLongestWord) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  if (const auto near = nearest(word, candidates)) return " (did you mean '" + *near + "'?)";
  constexpr std::size_t kShortList = 12;
  if (candidates.empty() || candidates.size() > kShortList) return "";
  std::string list;
  for (const auto& candidate : candidates) list += (list.empty() ? "" : ", ") + candidate;
  return " (one of: " + list + ")";
}

std::vector<std::string> nearest_first(std::string_view word, std::vector<std::string> candidates) {
  if (word.size() > kLongestWord) return candidates;
  std::vector<std::pair<std::size_t, std::string>> by_distance;
  for (auto& candidate : candidates) {
    const auto distance = candidate.size() > kLongestWord ? candidate.size() : edit_distance(word, candidate);
    by_distance.emplace_back(distance, std::move(candidate));
  }
  std::stable_sort(by_distance.begin(), by_distance.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (auto& [distance, candidate] : by_distance) out.push_back(std::move(candidate));
  return out;
}

}  // namespace perfbench::spec
