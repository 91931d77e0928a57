#include "harness/readers/line_pattern.h"

#include <re2/re2.h>

#include <map>

namespace perfbench::readers {
namespace {

constexpr std::size_t kLongestPattern = 2000;
constexpr std::int64_t kMemoryBytes = std::int64_t{16} << 20;

re2::RE2::Options pattern_options() {
  // Reads bytes instead of UTF-8: a log may contain invalid UTF-8, and its lines must still match.
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_log_errors(false);
  options.set_max_mem(kMemoryBytes);
  return options;
}

}  // namespace

LinePattern::LinePattern(std::string_view regex) {
  if (regex.size() > kLongestPattern) {
    throw PatternError("a regular expression of " + std::to_string(regex.size()) + " characters; at most " +
                       std::to_string(kLongestPattern) + " are allowed");
  }
  regex_ = std::make_unique<re2::RE2>(re2::StringPiece(regex.data(), regex.size()), pattern_options());
  if (!regex_->ok()) {
    throw PatternError("'" + std::string(regex) + "' is not a regular expression of RE2: " + regex_->error() +
                       "; RE2 has no look-around and no back-references");
  }
  names_.resize(static_cast<std::size_t>(regex_->NumberOfCapturingGroups()));
  for (const auto& [name, number] : regex_->NamedCapturingGroups()) names_[static_cast<std::size_t>(number) - 1] = name;
  groups_.resize(names_.size());
}

LinePattern::LinePattern(LinePattern&&) noexcept = default;
LinePattern::~LinePattern() = default;

bool LinePattern::search(std::string_view line) {
  std::vector<re2::StringPiece> found(names_.size() + 1);
  const re2::StringPiece text(line.data(), line.size());
  if (!regex_->Match(text, 0, line.size(), re2::RE2::UNANCHORED, found.data(), static_cast<int>(found.size()))) {
    return false;
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) groups_[i] = {found[i + 1].data(), found[i + 1].size()};
  const auto begin = static_cast<std::size_t>(found[0].data() - line.data());
  before_ = line.substr(0, begin);
  after_ = line.substr(begin + found[0].size());
  return true;
}

}  // namespace perfbench::readers
