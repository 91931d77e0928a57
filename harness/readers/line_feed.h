// Splits a log, which arrives in chunks, into lines. A line ends at \n or \r, because a progress bar and a record can
// share one \n. Removes colours and other terminal commands. The time is proportional to the length of the text,
// however it is divided.
//
// `mpirun --tag-output` of Open MPI 4 puts a tag before each piece that it reads from a rank, and adds no line end to a
// piece. If ranks print lines in pieces, one line of the log has text of several ranks. Each piece goes back to its
// rank here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace perfbench::readers {

using ArrivalTime = std::optional<std::int64_t>;  // monotonic, ns; nullopt in a log without time stamps

class LineFeed {
 public:
  using OnLine = std::function<void(std::string_view line, ArrivalTime at_ns)>;

  // Only the beginning of a longer line is read: a program that prints without line ends must not fill the memory.
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;

  void feed(std::string_view chunk, ArrivalTime at_ns, const OnLine& on_line);

  // Whether text without a line end is left. It may be cut off in the middle of a number, so it does not count as a
  // line.
  bool has_partial_line() const { return !partial_.empty() || !begun_.empty(); }

 private:
  void end_line(std::string_view line, ArrivalTime at_ns, const OnLine& on_line);
  void end_tagged_line(std::string_view line, std::size_t first_tag, ArrivalTime at_ns, const OnLine& on_line);
  void give(std::string_view line, ArrivalTime at_ns, const OnLine& on_line);

  std::string partial_;
  std::unordered_map<std::string, std::string> begun_;  // by tag: the beginning of a line, with the tag
  std::size_t begun_bytes_ = 0;
  std::string cleaned_;
};

// The rank in the prefix that a launcher put before a line: srun ("3: "), torchrun ("[default3]:", "[rank3]:"), mpirun
// ("[1,3]<stdout>:", "[job@1,3]<stdout>:"). 0 if there is no prefix.
std::int64_t rank_of_prefix(std::string_view prefix);

}  // namespace perfbench::readers
