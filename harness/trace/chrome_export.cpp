#include "harness/trace/chrome_export.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "reports/render/format/escape.h"

namespace perfbench::harness {
namespace {

using nlohmann::json;
using spec::TraceEvent;
using spec::TraceKind;

// A viewer numbers threads with one integer. Lanes of the host keep their number; the streams of each device follow, in
// a range for each device.
constexpr std::int64_t kLanesOfADevice = 100'000;

std::int64_t thread_of(const TraceEvent& event) {
  return event.device == spec::kHostDevice ? event.lane : (event.device + 1) * kLanesOfADevice + event.lane;
}

std::string thread_name(const TraceEvent& event) {
  const std::string lane = std::to_string(event.lane);
  if (event.device != spec::kHostDevice) return "device " + std::to_string(event.device) + " stream " + lane;
  return event.lane == 0 ? "schedule" : event.lane == 1 ? "communication" : "thread " + lane;
}

std::string shown_name(const TraceEvent& event) {
  std::string name = event.kernel_name.empty() ? event.name : event.kernel_name;
  if (name.empty()) name = spec::enum_name(event.kind);  // a copy on a device
  return event.axis.empty() ? name : name + " " + event.axis;
}

// Perfetto multiplies by 1000 and truncates: 1.001 us would become 1000 ns and overlap the event that ended there.
double microseconds(std::int64_t ns) {
  const double us = static_cast<double>(ns) / 1e3;
  return static_cast<std::int64_t>(us * 1e3) < ns ? std::nextafter(us, us + 1) : us;
}

bool starts_others(const TraceEvent& event) {
  return event.kind == TraceKind::submit || event.kind == TraceKind::host_call;
}

// The category of an arrow between the call and the work that it starts. Collectives and devices number their work
// separately.
const char* arrow_category(const TraceEvent& event) {
  return event.kind == TraceKind::submit || event.kind == TraceKind::collective ? "collective" : "device";
}

// Numbers of arrows by category and correlation, for arrows of which both ends are known.
using Arrows = std::map<std::pair<std::string, std::int64_t>, std::int64_t>;

class ChromeWriter {
 public:
  explicit ChromeWriter(std::int64_t origin_ns) : origin_ns_(origin_ns) {}

  void add(const RankTrace& trace) {
    write({{"ph", "M"},
           {"name", "process_name"},
           {"pid", trace.rank},
           {"args", {{"name", "rank " + std::to_string(trace.rank)}}}});
    std::map<std::int64_t, std::string> threads;
    for (const auto& event : trace.events) threads.emplace(thread_of(event), thread_name(event));
    for (const auto& [id, name] : threads) {
      write({{"ph", "M"}, {"name", "thread_name"}, {"pid", trace.rank}, {"tid", id}, {"args", {{"name", name}}}});
    }
    std::vector<const TraceEvent*> order;
    for (const auto& event : trace.events) order.push_back(&event);
    std::stable_sort(order.begin(), order.end(), [](const auto* x, const auto* y) {
      return std::pair(x->start_ns, -x->end_ns) < std::pair(y->start_ns, -y->end_ns);
    });
    const auto arrows = arrows_of(order);
    std::set<std::int64_t> begun;
    for (const auto* event : order) {
      add(*event);
      const auto arrow = arrows.find({arrow_category(*event), event->correlation});
      if (event->correlation == 0 || arrow == arrows.end()) continue;
      const bool starts = starts_others(*event);
      if (starts ? begun.insert(arrow->second).second : begun.contains(arrow->second)) {
        add_arrow(*event, arrow->second, starts);
      }
    }
  }

  std::string finish() && { return text_ + "\n],\"displayTimeUnit\":\"ns\"}\n"; }

 private:
  // Only arrows that end after they begin.
  Arrows arrows_of(const std::vector<const TraceEvent*>& order) {
    std::set<Arrows::key_type> begun;
    Arrows out;
    for (const auto* event : order) {
      if (event->correlation == 0) continue;
      const Arrows::key_type key{arrow_category(*event), event->correlation};
      if (starts_others(*event)) {
        begun.insert(key);
      } else if (begun.contains(key) && !out.contains(key)) {
        out[key] = ++last_arrow_;
      }
    }
    return out;
  }

  void add(const TraceEvent& event) {
    json args{{"step", event.step}};
    if (event.bytes > 0) args["bytes"] = event.bytes;
    if (!event.kernel_name.empty() && !event.name.empty()) args["op"] = event.name;
    write({{"ph", "X"},
           {"name", shown_name(event)},
           {"cat", spec::enum_name(event.kind)},
           {"pid", event.rank},
           {"tid", thread_of(event)},
           {"ts", microseconds(event.start_ns - origin_ns_)},
           {"dur", microseconds(event.end_ns - event.start_ns)},
           {"args", args}});
  }

  // Adds the arrow inside the event that was written last.
  void add_arrow(const TraceEvent& event, std::int64_t number, bool starts) {
    json arrow{{"ph", starts ? "s" : "f"},
               {"name", "starts"},
               {"cat", arrow_category(event)},
               {"id", number},
               {"pid", event.rank},
               {"tid", thread_of(event)},
               {"ts", microseconds(event.start_ns - origin_ns_)}};
    if (!starts) arrow["bp"] = "e";
    write(arrow);
  }

  void write(const json& entry) {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    text_ += reports::with_escapes(entry.dump(-1, ' ', false, json::error_handler_t::replace));
  }

  std::int64_t origin_ns_;
  std::int64_t last_arrow_ = 0;  // counts over all ranks
  bool first_ = true;
  std::string text_ = "{\"traceEvents\":[";
};

}  // namespace

std::string chrome_json(const std::vector<RankTrace>& traces) {
  auto origin_ns = std::numeric_limits<std::int64_t>::max();
  for (const auto& trace : traces) {
    for (const auto& event : trace.events) origin_ns = std::min(origin_ns, event.start_ns);
  }
  ChromeWriter writer(origin_ns);
  for (const auto& trace : traces) writer.add(trace);
  return std::move(writer).finish();
}

}  // namespace perfbench::harness
