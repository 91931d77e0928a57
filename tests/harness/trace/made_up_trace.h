// Traces written by hand: events in the units of a test, and the files that an engine would have written for them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/evidence/trace_file.h"

namespace perfbench::harness {

// Adds events one by one; times in nanoseconds.
class MadeUpTrace {
 public:
  explicit MadeUpTrace(std::int64_t rank = 0) { trace_.rank = trace_.end.rank = rank; }

  // Later spans belong to this step.
  MadeUpTrace& step(std::int64_t number, std::int64_t start, std::int64_t end);
  // On lane 0 of the host.
  MadeUpTrace& host(spec::TraceKind kind, const std::string& name, std::int64_t start, std::int64_t end,
                    std::int64_t correlation = 0);
  // On lane 1.
  MadeUpTrace& collective(const std::string& name, std::int64_t start, std::int64_t end, std::int64_t correlation = 0,
                          const std::string& axis = "fsdp");
  // "send" or "receive" along pp on lane 0: submitted in one nanosecond, and waited for later.
  MadeUpTrace& message(const std::string& name, const std::string& heading, std::int64_t submitted, std::int64_t start,
                       std::int64_t end);
  // On device 0.
  MadeUpTrace& device(spec::TraceKind kind, const std::string& kernel_name, std::int64_t stream, std::int64_t start,
                      std::int64_t end, std::int64_t correlation = 0);

  const RankTrace& trace() const { return trace_; }
  RankTrace& trace() { return trace_; }
  std::string file_text() const;

 private:
  MadeUpTrace& add(spec::TraceEvent event);

  RankTrace trace_;
  std::int64_t step_ = 0;
  std::int64_t messages_ = 0;
};

// Two ranks on a CPU, two steps each, with everything that a file can contain.
std::vector<RankTrace> example_traces();
void write_traces(const std::filesystem::path& directory, const std::vector<RankTrace>& traces);
std::string file_text(const RankTrace& trace);

}  // namespace perfbench::harness
