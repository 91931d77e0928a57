#include "harness/trace/chrome_export.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "reports/format/json_text.h"

namespace perfbench::harness {
namespace {

using nlohmann::json;
using spec::TraceEvent;
using spec::TraceKind;

// A viewer has one number for a thread: lanes of the host as they are, streams behind those of all devices before.
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
  if (name.empty()) name = spec::enum_name(event.kind);  // a copy of a device
  return event.axis.empty() ? name : name + " " + event.axis;
}

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
    for (const auto& event : trace.events) add(event);
  }

  std::string finish() && { return text_ + "\n],\"displayTimeUnit\":\"ns\"}\n"; }

 private:
  double us(std::int64_t ns) const { return static_cast<double>(ns - origin_ns_) / 1e3; }

  void add(const TraceEvent& event) {
    json args{{"step", event.step}};
    if (event.bytes > 0) args["bytes"] = event.bytes;
    if (!event.kernel_name.empty() && !event.name.empty()) args["op"] = event.name;
    write({{"ph", "X"},
           {"name", shown_name(event)},
           {"cat", spec::enum_name(event.kind)},
           {"pid", event.rank},
           {"tid", thread_of(event)},
           {"ts", us(event.start_ns)},
           {"dur", static_cast<double>(event.end_ns - event.start_ns) / 1e3},
           {"args", args}});
    if (event.correlation == 0) return;
    const bool starts = event.kind == TraceKind::submit || event.kind == TraceKind::host_call;
    const bool ours = event.kind == TraceKind::submit || event.kind == TraceKind::collective;
    json arrow{{"ph", starts ? "s" : "f"},
               {"name", "starts"},
               {"cat", ours ? "collective" : "device"},
               {"id", std::to_string(event.rank) + "." + std::to_string(event.correlation)},
               {"pid", event.rank},
               {"tid", thread_of(event)},
               {"ts", us(event.start_ns)}};
    if (!starts) arrow["bp"] = "e";
    write(arrow);
  }

  void write(const json& entry) {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    text_ += reports::with_escapes(entry.dump(-1, ' ', false, json::error_handler_t::replace));
  }

  std::int64_t origin_ns_;
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
