#include "harness/readers/line_feed.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace perfbench::readers {
namespace {

constexpr char kEscape = '\x1b';

// The end of the terminal command that begins at `at`: "\x1b[", parameters, and a letter from @ to ~. A command that is
// cut off extends to the end of the text.
std::size_t end_of_escape(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size()) return text.size();
  if (text[at + 1] != '[') return at + 2;
  const auto end = std::find_if(text.begin() + static_cast<std::ptrdiff_t>(at) + 2, text.end(),
                                [](char c) { return c >= '@' && c <= '~'; });
  return end == text.end() ? text.size() : static_cast<std::size_t>(end - text.begin()) + 1;
}

void remove_escapes(std::string_view line, std::string& out) {
  out.clear();
  for (std::size_t at = 0; at < line.size();) {
    const auto escape = std::min(line.find(kEscape, at), line.size());
    out.append(line, at, escape - at);
    at = escape < line.size() ? end_of_escape(line, escape) : escape;
  }
}

std::size_t find_line_end(std::string_view text, std::size_t from) {
  const auto* const begin = text.data() + from;
  const auto* newline = static_cast<const char*>(std::memchr(begin, '\n', text.size() - from));
  const auto length = newline == nullptr ? text.size() - from : static_cast<std::size_t>(newline - begin);
  const auto* carriage = static_cast<const char*>(std::memchr(begin, '\r', length));
  if (carriage != nullptr) newline = carriage;
  return newline == nullptr ? std::string_view::npos : static_cast<std::size_t>(newline - text.data());
}

// The digits at `at`, and their end. nullopt if there are none, or more than a rank can have.
struct Digits {
  std::int64_t value = 0;
  std::size_t end = 0;
};
std::optional<Digits> digits_at(std::string_view text, std::size_t at) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  if (error != std::errc{} || value < 0) return std::nullopt;
  return Digits{value, static_cast<std::size_t>(end - text.data())};
}

// Returns the first tag of Open MPI that begins at `from` or behind it, such as "[1,3]<stdout>:", or nothing.
std::string_view find_tag(std::string_view line, std::size_t from) {
  constexpr std::string_view kStream = "]<std";
  constexpr std::size_t kLongestJob = 256;
  for (auto stream = line.find(kStream, from); stream != std::string_view::npos;
       stream = line.find(kStream, stream + 1)) {
    const auto first = std::max(from, stream - std::min(stream, kLongestJob));
    const auto job = line.substr(first, stream - first);
    const auto begin = job.rfind('[');
    const auto name = line.substr(stream + kStream.size(), std::string_view("out>:").size());
    if (begin == std::string_view::npos || (name != "out>:" && name != "err>:")) continue;
    if (job.find(',', begin) == std::string_view::npos) continue;
    return line.substr(first + begin, stream + kStream.size() + name.size() - (first + begin));
  }
  return {};
}

}  // namespace

void LineFeed::end_line(std::string_view line, ArrivalTime at_ns, const OnLine& on_line) {
  line = line.substr(0, kLongestLine);
  if (const auto tag = find_tag(line, 0); !tag.empty()) {
    return end_tagged_line(line, static_cast<std::size_t>(tag.data() - line.data()), at_ns, on_line);
  }
  give(line, at_ns, on_line);
}

void LineFeed::end_tagged_line(std::string_view line, std::size_t first_tag, ArrivalTime at_ns, const OnLine& on_line) {
  give(line.substr(0, first_tag), at_ns, on_line);  // text without a tag is mpirun's own
  line.remove_prefix(first_tag);
  while (!line.empty()) {
    const auto tag = find_tag(line, 0);
    const auto next = find_tag(line, tag.size());
    const auto piece = line.substr(0, next.empty() ? line.size() : static_cast<std::size_t>(next.data() - line.data()));
    line.remove_prefix(piece.size());
    const auto begun = begun_.find(std::string(tag));
    if (line.empty()) {
      if (begun == begun_.end()) return give(piece, at_ns, on_line);
      begun_bytes_ -= begun->second.size();
      const auto whole = begun->second.append(piece.substr(tag.size()));
      begun_.erase(begun);
      return give(whole, at_ns, on_line);
    }
    if (begun_bytes_ + piece.size() > kLongestLine) {  // a hostile log must not fill the memory
      give(piece, at_ns, on_line);
      continue;
    }
    begun_bytes_ += piece.size();
    if (begun == begun_.end()) {
      begun_.emplace(tag, piece);
    } else {
      begun_bytes_ -= tag.size();
      begun->second.append(piece.substr(tag.size()));
    }
  }
}

void LineFeed::give(std::string_view line, ArrivalTime at_ns, const OnLine& on_line) {
  if (line.empty()) return;
  if (line.find(kEscape) == std::string_view::npos) return on_line(line, at_ns);
  remove_escapes(line, cleaned_);
  on_line(cleaned_, at_ns);
}

void LineFeed::feed(std::string_view chunk, ArrivalTime at_ns, const OnLine& on_line) {
  std::size_t begin = 0;
  while (begin < chunk.size()) {
    const auto end = find_line_end(chunk, begin);
    const auto text = chunk.substr(begin, std::min(end, chunk.size()) - begin);
    if (end == std::string_view::npos || !partial_.empty()) {
      partial_.append(text.substr(0, kLongestLine - std::min(kLongestLine, partial_.size())));
    }
    if (end == std::string_view::npos) return;
    end_line(partial_.empty() ? text : std::string_view(partial_), at_ns, on_line);
    partial_.clear();
    begin = end + 1;
  }
}

std::int64_t rank_of_prefix(std::string_view prefix) {
  const auto first = prefix.find_first_not_of(' ');
  if (first != std::string_view::npos && prefix[first] >= '0' && prefix[first] <= '9') {
    const auto digits = digits_at(prefix, first);
    if (digits && prefix.substr(digits->end).starts_with(": ")) return digits->value;
  }
  constexpr std::array<std::string_view, 2> kNames{"[rank",
                                                   "[default"};  // the first one gives the rank among all nodes
  for (const auto name : kNames) {
    const auto at = prefix.find(name);
    if (at == std::string_view::npos) continue;
    const auto digits = digits_at(prefix, at + name.size());
    if (digits && prefix.substr(digits->end).starts_with("]:")) return digits->value;
  }
  const auto stream = prefix.find("]<std");
  const auto comma = prefix.substr(0, stream).rfind(',');
  if (stream != std::string_view::npos && comma != std::string_view::npos) {
    const auto digits = digits_at(prefix, comma + 1);
    if (digits && digits->end == stream) return digits->value;
  }
  return 0;
}

}  // namespace perfbench::readers
