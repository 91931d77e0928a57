#include "harness/launch/log_tail.h"

#include <algorithm>
#include <fstream>
#include <regex>

namespace perfbench::harness {
namespace {

constexpr std::streamoff kTailBytes = 16384;

bool says_something(const std::string& line) {
  return line.find_first_not_of(" -=*\t\r") != std::string::npos;
}

}  // namespace

std::vector<std::string> log_tail(const std::filesystem::path& log, std::size_t count) {
  std::ifstream in(log, std::ios::binary);
  std::vector<std::string> lines;
  if (!in) return lines;
  in.seekg(0, std::ios::end);
  in.seekg(std::max<std::streamoff>(0, in.tellg() - kTailBytes));
  for (std::string line; std::getline(in, line);) {
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
