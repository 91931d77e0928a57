// What ran when, in lanes: as data of a document (document.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perfbench::reports {

struct TimelineSpan {
  std::string name;
  std::string kind;  // spans of one kind look alike
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// Spans of a lane that lie within one another, or overlap, are drawn below one another.
struct TimelineLane {
  std::string name;
  std::vector<TimelineSpan> spans;  // by their beginning, the longer one first
};

struct Timeline {
  std::string key;
  std::string title;
  std::vector<TimelineLane> lanes;
};

}  // namespace perfbench::reports
