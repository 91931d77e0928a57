// "did you mean": the candidate nearest to a misspelt word.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace perfbench::spec {

// The candidate with the smallest edit distance (insert, delete, replace, swap of neighbours), if it is at most a third
// of the word's length (at least 2); otherwise nothing.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

// " (did you mean 'x'?)", or the whole list " (one of: a, b, c)" if nothing is near and the list is short; else "".
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

// The candidates by their edit distance from the word; equally distant ones keep their order.
std::vector<std::string> nearest_first(std::string_view word, std::vector<std::string> candidates);

}  // namespace perfbench::spec
