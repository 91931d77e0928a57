#include "harness/evidence/trace_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "harness/evidence/attempt.h"
#include "harness/system/input_error.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void reject_trace(const fs::path& file, std::size_t line, const std::string& what) {
  throw InputError(fmt::format("[trace] {}:{} {}", file.string(), line, what));
}

class Reader {
 public:
  Reader(fs::path file, std::int64_t rank) : file_(std::move(file)) { trace_.rank = rank; }

  RankTrace read() {
    const auto text = whole_text();
    for (std::size_t begin = 0; begin < text.size();) {
      ++line_number_;
      const auto end = text.find('\n', begin);
      if (end == std::string::npos) reject_trace(file_, line_number_, cut_off());
      take(std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
    }
    if (!end_) reject_trace(file_, line_number_, cut_off());
    trace_.end = *end_;
    check_counts();
    check_steps();
    return std::move(trace_);
  }

 private:
  std::string cut_off() const {
    return fmt::format(
        "is the last line, but not the one that counts the events: the engine's rank {} ended while it wrote its "
        "trace; execute the cell again",
        trace_.rank);
  }

  std::string whole_text() const {
    try {
      auto text = spec::read_regular_file(file_, spec::kLargestRecordsBytes);
      if (!text) throw InputError(fmt::format("[trace] {} does not exist", file_.string()));
      return *std::move(text);
    } catch (const spec::FileError& e) {
      throw InputError(fmt::format("[trace] {}", e.what()));
    }
  }

  void take(std::string_view line) {
    if (end_) reject_trace(file_, line_number_, "follows the line that ends the trace");
    try {
      auto parsed = spec::parse_trace_line(line);
      const auto rank = std::visit([](const auto& record) { return record.rank; }, parsed);
      if (rank != trace_.rank) reject_trace(file_, line_number_, fmt::format("belongs to rank {}", rank));
      if (auto* event = std::get_if<spec::TraceEvent>(&parsed)) {
        trace_.events.push_back(std::move(*event));
      } else {
        end_ = std::get<spec::TraceEnd>(parsed);
      }
    } catch (const spec::SpecError& e) {
      reject_trace(file_, line_number_, (e.pointer().empty() ? "" : "at " + e.pointer() + ": ") + e.what());
    }
  }

  void check_counts() const {
    const auto found = static_cast<std::int64_t>(trace_.events.size());
    if (found == end_->events) return;
    reject_trace(file_, line_number_,
                 fmt::format("counts {} events, but {} precede it: lines were lost", end_->events, found));
  }

  // Traced steps have one span each, in sequence.
  void check_steps() const {
    std::vector<const spec::TraceEvent*> steps;
    std::set<std::int64_t> numbers;
    for (const auto& event : trace_.events) {
      if (event.kind != spec::TraceKind::step) continue;
      steps.push_back(&event);
      if (!numbers.insert(event.step).second)
        reject_trace(file_, line_number_, fmt::format("ends step {} twice", event.step));
    }
    if (static_cast<std::int64_t>(steps.size()) != end_->steps) {
      reject_trace(file_, line_number_,
                   fmt::format("counts {} steps, but spans of {} precede it", end_->steps, steps.size()));
    }
    std::sort(steps.begin(), steps.end(), [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
    for (std::size_t i = 1; i < steps.size(); ++i) {
      if (steps[i]->start_ns >= steps[i - 1]->end_ns) continue;
      reject_trace(file_, line_number_,
                   fmt::format("ends a trace in which step {} begins before the end of step {}", steps[i]->step,
                               steps[i - 1]->step));
    }
  }

  fs::path file_;
  RankTrace trace_;
  std::optional<spec::TraceEnd> end_;
  std::size_t line_number_ = 0;
};

// The R of "trace.rank<R>.jsonl".
std::optional<std::int64_t> rank_of(const std::string& name) {
  constexpr std::string_view kBefore = "trace.rank";
  if (!name.starts_with(kBefore)) return std::nullopt;
  std::int64_t rank = -1;
  const auto [next, error] = std::from_chars(name.data() + kBefore.size(), name.data() + name.size(), rank);
  if (error != std::errc() || rank < 0 || name != trace_file(rank)) return std::nullopt;
  return rank;
}

}  // namespace

std::vector<RankTrace> read_traces(const fs::path& directory, std::optional<std::int64_t> ranks) {
  if (!fs::is_directory(directory)) throw InputError(fmt::format("[trace] {} is not a folder", directory.string()));
  std::set<std::int64_t> found;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (const auto rank = rank_of(entry.path().filename().string())) found.insert(*rank);
  }
  if (found.empty()) return {};
  const std::int64_t wanted = std::max(ranks.value_or(0), *found.rbegin() + 1);
  if (ranks && wanted > *ranks) {
    throw InputError(fmt::format("[trace] {} contains {}, but its run has {} ranks: the folder mixes two runs",
                                 directory.string(), trace_file(wanted - 1), *ranks));
  }
  std::vector<RankTrace> traces;
  for (std::int64_t rank = 0; rank < wanted; ++rank) {
    if (!found.contains(rank)) {
      throw InputError(fmt::format("[trace] {} contains {}, but not {}: the trace of a rank is missing",
                                   directory.string(), trace_file(*found.begin()), trace_file(rank)));
    }
    traces.push_back(Reader(directory / trace_file(rank), rank).read());
  }
  return traces;
}

}  // namespace perfbench::harness
