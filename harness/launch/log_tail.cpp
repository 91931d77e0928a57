#include "harness/launch/log_tail.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <sstream>
#include <string_view>

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

// mpirun writes "process rank 1 with PID 42 on node n1 exited on signal 9 (Killed)".
constexpr std::string_view kRank = "process rank ";
constexpr std::string_view kSignal = " exited on signal ";

// The number that follows `words`, which stand at `at` of the line.
std::optional<std::int64_t> number_after(std::string_view line, std::size_t at, std::string_view words) {
  if (at == std::string_view::npos) return std::nullopt;
  std::int32_t number = 0;
  const auto text = line.substr(at + words.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return std::nullopt;
  return number;
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

std::vector<std::string> launcher_messages(const std::filesystem::path& log) {
  const auto is_frame = [](const std::string& line) {
    constexpr std::size_t kShortestFrame = 40;
    return line.size() >= kShortestFrame && line.find_first_not_of('-') == std::string::npos;
  };
  std::vector<std::string> lines;
  std::istringstream end(end_of(log));
  for (std::string line; std::getline(end, line);) lines.push_back(line);
  // Frames come in pairs. Of an odd number the first belongs to a message that began before the end of the log.
  bool is_within = std::count_if(lines.begin(), lines.end(), is_frame) % 2 != 0;
  std::vector<std::string> out;
  for (const auto& line : lines) {
    if (is_frame(line)) {
      is_within = !is_within;
      if (is_within) out.emplace_back();
      continue;
    }
    const auto begin = line.find_first_not_of(" \t\r");
    if (!is_within || out.empty() || begin == std::string::npos) continue;
    out.back() += (out.back().empty() ? "" : " ") + line.substr(begin);
  }
  return out;
}

std::optional<RankSignal> reported_signal(const std::vector<std::string>& lines) {
  for (const auto& line : lines) {
    const auto rank = number_after(line, line.find(kRank), kRank);
    const auto signal = number_after(line, line.rfind(kSignal), kSignal);
    if (rank && signal) return RankSignal{*rank, static_cast<int>(*signal)};
  }
  return std::nullopt;
}

}  // namespace perfbench::harness
