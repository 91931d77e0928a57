#include "harness/launch/log_tail.h"

#include <algorithm>
#include <regex>
#include <sstream>

#include "workloads/spec/regular_file.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kTailBytes = 16384;

bool says_something(const std::string& line) {
  return line.find_first_not_of(" -=*\t\r") != std::string::npos;
}

// Empty where there is none, or something else in its place.
std::string end_of(const std::filesystem::path& log) {
  try {
    const auto file = spec::RegularFile::open(log);
    if (!file) return {};
    std::string text(kTailBytes, '\0');
    const auto begin = std::max<std::int64_t>(0, file->bytes() - static_cast<std::int64_t>(kTailBytes));
    text.resize(file->read_at(begin, text.data(), text.size()));
    return text;
  } catch (const spec::FileError&) {
    return {};
  }
}

}  // namespace

std::vector<std::string> log_tail(const std::filesystem::path& log, std::size_t count) {
  std::vector<std::string> lines;
  std::istringstream end(end_of(log));
  for (std::string line; std::getline(end, line);) {
    if (says_something(line)) lines.push_back(line);
  }
  if (lines.size() > count) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(count));
  return lines;
}

std::optional<RankSignal> reported_signal(const std::vector<std::string>& lines) {
  static const std::regex kReport(R"(process rank (\d+) .*exited on signal (\d+))");
  std::smatch match;
  for (const auto& line : lines) {
    if (std::regex_search(line, match, kReport)) return RankSignal{std::stoll(match[1]), std::stoi(match[2])};
  }
  return std::nullopt;
}

}  // namespace perfbench::harness
